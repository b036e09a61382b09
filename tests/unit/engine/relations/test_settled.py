"""By what the rows of queries lie in buckets as queries come and go."""

from __future__ import annotations

from tests.unit.engine.relations.homes import planned
from tests.unit.engine.relations.test_restarts import STREAMS
from weft.engine.relations.spreads import settled
from weft.share.build import build
from weft.share.relations.bucketing import Spread
from weft.share.relations.weave import Key

PAIRS = "FROM a [RANGE 9 SECONDS] x JOIN b [RANGE 9 SECONDS] y ON x.k = y.k"
KEYS = "CREATE QUERY keys AS SELECT DISTINCT k, v FROM a [RANGE 9 SECONDS];\n"
BOTH = f"CREATE QUERY both_sides AS SELECT x.k, y.v {PAIRS};\n"
COUNT = f"CREATE QUERY counted AS SELECT COUNT(*) AS n {PAIRS};\n"
DISTANT = f"CREATE QUERY distant AS SELECT x.k, levenshtein(x.k, y.k) AS n {PAIRS};\n"

Known = dict[str, tuple[Key, Spread | None]]


def settle(text: str, known: Known | None = None) -> Known:
    program = planned(STREAMS + text)
    declared = {stream.name: stream for stream in program.streams}
    return settled(build(program).related, {}, known or {}, declared)


def by(found: Known) -> dict[str, dict[str, tuple[str, ...]] | None]:
    return {name: None if spread is None else dict(spread.by) for name, (_, spread) in found.items()}


BY_K = {"a": ("k",), "b": ("k",)}


def test_together_they_go_by_what_is_good_for_both() -> None:
    assert by(settle(KEYS + BOTH)) == {"keys": BY_K, "both_sides": BY_K}


def test_who_runs_stays_where_it_is() -> None:
    alone = settle(KEYS)
    assert by(alone) == {"keys": {"a": ("k", "v")}}
    assert by(settle(KEYS + BOTH, alone)) == {"keys": {"a": ("k", "v")}, "both_sides": BY_K}


def test_who_has_no_key_draws_none_that_runs_into_the_driver() -> None:
    assert by(settle(BOTH + COUNT)) == {"both_sides": None, "counted": None}
    assert by(settle(BOTH + COUNT, settle(BOTH))) == {"both_sides": BY_K, "counted": None}


def test_a_query_that_is_another_is_settled_anew() -> None:
    known = settle(KEYS)
    assert by(settle(KEYS.replace("k, v", "v"), known)) == {"keys": {"a": ("v",)}}


def test_what_only_spark_can_evaluate_stays_in_the_driver_with_all_that_share_with_it() -> None:
    assert by(settle(BOTH + DISTANT)) == {"both_sides": None, "distant": None}
    assert by(settle(KEYS + DISTANT)) == {"keys": {"a": ("k", "v")}, "distant": None}


def test_it_draws_none_that_runs_into_the_driver() -> None:
    assert by(settle(BOTH + DISTANT, settle(BOTH))) == {"both_sides": BY_K, "distant": None}
