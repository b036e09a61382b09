"""A program with ten queries over several sources, as explain shows it: chains, slices, patterns, cost."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.golden import check_file
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Program
from weft.session import Session
from weft.share.build import build
from weft.share.explain import explain_program
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.relations.program import woven

HERE = Path(__file__).parent
TEXT = (HERE / "ten.sql").read_text()


@pytest.fixture(scope="module")
def program() -> Program:
    return optimize_program(bind_program(parse_program(TEXT)))


def test_what_explain_says(program: Program, request: pytest.FixtureRequest) -> None:
    def said(given: str) -> str:
        what = given.splitlines()[-1]
        if what == "JSON":
            told = json.loads(explain_program(program, format="json"))["relations"]
            return json.dumps(told, indent=1)
        return explain_program(program, None if what == "ALL" else what)

    check_file(HERE / "ten.explain", said, request.config.getoption("--update"))


def test_a_node_comes_before_those_that_rest_on_it(program: Program) -> None:
    known = set()
    for key, node in woven(build(program)).nodes.items():
        assert known.issuperset(node.sources)
        known.add(key)
    assert len(known) > 10


def test_equal_relations_are_one_node(program: Program) -> None:
    found = woven(build(program))
    assert found.nodes[found.tops["kinds"].key].queries == ("kinds", "news")


def test_what_is_known_of_the_streams_is_what_is_counted_with(program: Program) -> None:
    load = Load(rows=5.0, groups=50.0, rows_by="given", groups_by="measured")
    text = explain_program(program, basis=Basis(Loads(other=load)))
    assert "sent 5 rows/s given, 50 keys measured" in text
    assert "keys assumed" not in text


def test_each_side_says_how_its_own_keys_are_known(program: Program) -> None:
    counted = Load(rows=5.0, joined={"id": 50.0})
    text = explain_program(program, basis=Basis(Loads({"sent": counted})))
    assert "sent 5 rows/s assumed, 50 keys measured; acks 10,000 rows/s assumed, 10,000 keys assumed" in text


def test_the_picture_has_a_band_for_each_slice() -> None:
    session = Session()
    session.sql(TEXT)
    said = [node.text or "" for node in ET.fromstring(session.explain().svg()).iter()]
    assert "relations: 10 queries" in said
    assert [one for one in said if one.startswith(("sent for", "acks for"))] == [
        "sent for 10 s: refused", "sent for 1 min: 3 queries", "sent for 1 h: slow",
        "acks for 1 min: 3 queries", "acks for 1 h: 2 queries",
    ]  # fmt: skip


def test_aggregates_beside_relations_are_explained_as_ever(program: Program) -> None:
    counted = "CREATE QUERY counted AS SELECT kind, COUNT(*) AS n FROM sent [RANGE 1 MINUTE] GROUP BY kind;"
    both = optimize_program(bind_program(parse_program(TEXT + counted)))
    text = explain_program(both)
    assert "stream sent: 1 query, each row read once" in text
    assert "what sharing saves, 1 query" in text
    assert "stream acks" not in text
    assert "chain c0: sent and acks" in text


STREAMS = TEXT[: TEXT.index("CREATE QUERY")]
JOIN = "CREATE QUERY {} AS SELECT s.id FROM sent [RANGE {}] s JOIN acks [RANGE 1 MINUTE] a ON {};"


def explained(*queries: str) -> str:
    return explain_program(optimize_program(bind_program(parse_program(STREAMS + "".join(queries)))))


def test_the_sides_of_an_equality_make_no_other_chain() -> None:
    one = JOIN.format("one", "1 MINUTE", "s.id = a.id AND s.size < a.code")
    other = JOIN.format("other", "1 HOUR", "a.id = s.id AND s.size < a.code")
    assert "2 joins of 2 queries" in explained(one, other)
    assert "2 joins of 2 queries" not in explained(one, other.replace("s.size < a.code", "a.code < s.size"))


@pytest.mark.parametrize(
    "other",
    [
        "FROM acks [RANGE 1 HOUR] a JOIN sent [RANGE 1 MINUTE] s ON s.id = a.id AND s.size < a.code",
        "FROM acks [RANGE 1 HOUR] a, sent [RANGE 1 MINUTE] s WHERE a.code > s.size AND a.id = s.id",
        "FROM sent [RANGE 1 MINUTE] s, acks [RANGE 1 HOUR] a WHERE s.size < a.code AND a.id = s.id",
    ],
)
def test_the_order_of_the_sides_makes_no_other_chain(other: str) -> None:
    one = JOIN.format("one", "1 MINUTE", "s.id = a.id AND s.size < a.code")
    text = explained(one, f"CREATE QUERY other AS SELECT s.id {other};")
    assert "chain c0: sent and acks on left.id = right.id AND left.size < right.code, 2 joins of 2" in text
    assert "for other  in sent 1 min and acks 1 h" in text


def test_a_chain_is_shown_as_its_first_join_was_written() -> None:
    text = explained(JOIN.format("one", "1 MINUTE", "a.id = s.id AND a.code > s.size"))
    assert "chain c0: sent and acks on left.id = right.id AND left.size < right.code" in text
    assert "a row of sent looks" in text[: text.index("a row of acks looks")]


def test_a_join_of_a_stream_with_itself_the_other_way_round_is_the_same_chain() -> None:
    ahead = "CREATE QUERY {} AS SELECT x.id FROM sent [RANGE 1 MINUTE] x JOIN sent [RANGE 1 HOUR] y ON {};"
    one, other = "x.id = y.id AND x.size < y.size", "x.id = y.id AND x.size > y.size"
    assert "2 joins of 2 queries" in explained(ahead.format("one", one), ahead.format("other", other))


def test_rows_without_end_are_not_counted_and_that_is_said() -> None:
    said = "rows that are wanted for ever are not in it"
    assert said in explained(JOIN.format("one", "UNBOUNDED", "s.id = a.id"))
    assert said not in explained(JOIN.format("one", "1 HOUR", "s.id = a.id"))


def test_what_only_spark_can_evaluate_is_said_to_stay_in_the_driver_with_what_shares_with_it() -> None:
    plain = JOIN.format("plain", "1 MINUTE", "s.id = a.id")
    distant = plain.replace("plain", "distant").replace("s.id FROM", "levenshtein(s.id, a.id) AS n FROM")
    session = Session()
    session.sql(STREAMS + plain)
    assert "with --placement executors: in buckets by id of acks; id of sent" in session.explain("plain")
    session.sql(distant)
    because = "only Spark can evaluate LEVENSHTEIN(sent.id, acks.id)"
    assert f"with --placement executors: in the driver, for {because}" in session.explain("distant")
    assert f"driver for distant: {because}" in session.explain()
    told = json.loads(session.explain(format="json"))["relations"]["on_executors"]
    assert told == {
        "buckets": [],
        "driver": {"plain": "it shares what it holds with distant", "distant": because},
    }
