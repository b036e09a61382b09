"""Where absence is put: by what pairs and rows cost that come and go, and by what others have already."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.plan.test_relationpatterns import DOWN, UP
from weft.lang.bodies import Emission
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Program
from weft.plan.relationplacing import joins_below
from weft.plan.relations import Emitted, Made, Relation
from weft.share.build import Planner, build
from weft.share.explain import explain_program
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.relations.decided import Decided
from weft.share.relations.placing import Others, placed

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS FROM rate;\n"
    for name in "abc"
)
ABSENT = (
    "CREATE QUERY absent AS SELECT x.v, y.v AS w "
    "FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k "
    "WHERE NOT EXISTS (SELECT 1 FROM c [RANGE 1 MINUTE] z WHERE z.k = x.k);\n"
)
JOIN = (
    "CREATE QUERY joined AS SELECT x.k, x.v, y.v AS w "
    "FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k;\n"
)
MANY_PAIRS = Basis(Loads(other=Load(rows=100.0, groups=10.0, groups_by="given")))
FEW_PAIRS = Basis(Loads(other=Load(rows=100.0, groups=1_000_000.0, groups_by="given")))


def program(*queries: str) -> Program:
    return optimize_program(bind_program(parse_program(STREAMS + "".join(queries))))


def emitted(relation: Relation) -> Emitted:
    return Emitted(relation, Emission.LIVES)


def stands(made: Program, basis: Basis) -> Sequence[int]:
    """Above how many joins absence stands."""
    (absent,) = (each for each in build(made, basis=basis).related if each.query.name == "absent")
    return joins_below(absent.relation)


@pytest.mark.parametrize("written", [UP, DOWN])
def test_where_pairs_are_many_it_stands_below_them(written: Relation) -> None:
    found = placed(emitted(written), Others(), MANY_PAIRS)
    assert [way.relation for way in found.ways] == [emitted(DOWN), emitted(UP)]
    assert found.ways[0].cost < found.ways[1].cost
    assert found.ways[0].work.changes < found.ways[1].work.changes


@pytest.mark.parametrize("written", [UP, DOWN])
def test_where_pairs_are_few_it_stands_above_them(written: Relation) -> None:
    assert placed(emitted(written), Others(), FEW_PAIRS).relation == emitted(UP)


def test_what_others_have_costs_nothing_more() -> None:
    others = Others.of([emitted(UP.source)])
    alone, beside = placed(emitted(UP), Others(), FEW_PAIRS), placed(emitted(UP), others, FEW_PAIRS)
    assert beside.ways[0].shared == alone.ways[0].shared + 1
    assert beside.ways[0].cost < alone.ways[0].cost
    assert beside.ways[1].cost == alone.ways[1].cost


def test_all_that_others_have_is_taken_as_it_is() -> None:
    for way in (UP, DOWN):
        found = placed(emitted(UP), Others.of([emitted(Made(way, ()))]), MANY_PAIRS)
        assert found.relation == emitted(way)
        assert found.ways[0].cost == 0.0


def test_the_plan_has_it_where_it_costs_least() -> None:
    made = program(ABSENT)
    assert stands(made, MANY_PAIRS) == (0,)
    assert stands(made, FEW_PAIRS) == (1,)


def test_a_join_that_another_query_has_turns_the_balance() -> None:
    both = program(ABSENT, JOIN), program(JOIN, ABSENT)
    known = [
        Basis(Loads(other=Load(100.0, groups=keys, groups_by="given"))) for keys in range(4000, 8000, 250)
    ]
    turned = [
        basis for basis in known if stands(program(ABSENT), basis) == (0,) and stands(both[0], basis) == (1,)
    ]
    assert turned
    assert all(stands(made, basis) == (1,) for made in both for basis in turned)


def test_a_query_that_stays_keeps_its_place() -> None:
    planner, made = Planner(), program(ABSENT)
    (first,) = planner.plan(made, basis=MANY_PAIRS).related
    (second,) = planner.plan(made, basis=FEW_PAIRS).related
    assert second.relation is first.relation


def test_explain_says_the_place_the_prices_and_why() -> None:
    text = explain_program(program(ABSENT), "absent", basis=MANY_PAIRS)
    assert "absence  below the join: fewer rows come and go where it looks, and above it" in text
    assert "above the join  as written" in text
    assert "absent  below the join, " in explain_program(program(ABSENT), basis=MANY_PAIRS)
    text = explain_program(program(ABSENT), "absent", basis=FEW_PAIRS)
    assert "absence  above the join: fewer rows come and go where it looks, and above it" in text


def test_explain_shows_what_was_decided_whatever_is_known_now() -> None:
    made = program(ABSENT)
    related = {each.query.name: each for each in build(made, basis=MANY_PAIRS).related}
    decided = Decided(MANY_PAIRS, related)
    text = explain_program(made, "absent", basis=FEW_PAIRS, decided=decided)
    assert "absence  below the join" in text
    assert "absence  above the join" in explain_program(made, "absent", basis=FEW_PAIRS)


def test_one_place_is_not_spoken_of() -> None:
    assert "absence" not in explain_program(program(JOIN))
    assert build(program(JOIN)).related[0].placing is None
