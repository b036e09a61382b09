"""What carries a relation out, by the update patterns of what it rests on (Golab 2006, 3.5.2)."""

from __future__ import annotations

import pytest

from tests.unit.plan.test_relationpatterns import DOWN, ONE, THREE, TWO, UP, entries, pairs, rows, said
from weft.lang.bodies import SetKind
from weft.plan.nodes import Aggregation
from weft.plan.relations import (
    AsOf,
    Distinct,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Merged,
    Relation,
)
from weft.share.relations.means import Means, means
from weft.share.relations.reasons import holds, reason
from weft.times import SECOND

COUNT = (Aggregation("_a0", "count"),)
SLIDING = AsOf(pairs(ONE, TWO), SECOND, 0, SECOND)


@pytest.mark.parametrize(
    ("relation", "by"),
    [
        (ONE, Means.READS),
        (Kept(UP, said("_s1_a > 1")), Means.FILTER),
        (pairs(ONE, TWO), Means.TAP),
        (pairs(pairs(ONE, TWO), THREE), Means.ORDERED),
        (pairs(Distinct(ONE), TWO), Means.PAIRS),
        (UP.source, Means.TAP),
        (UP, Means.CHECK),
        (DOWN, Means.PAIRS_OF_CHANGES),
        (pairs(ONE, entries(retroactive=False)), Means.CONSULTS),
        (pairs(entries(retroactive=False), ONE), Means.CONSULTS),
        (pairs(ONE, entries(retroactive=True)), Means.PAIRS_OF_CHANGES),
        (Distinct(ONE), Means.LONGEST),
        (Distinct(pairs(ONE, TWO)), Means.LONGEST),
        (Distinct(rows(1, None)), Means.LONGEST),
        (Distinct(UP), Means.COUNTS),
        (Merged(SetKind.EXCEPT, True, ONE, TWO), Means.COUNTS),
        (Merged(SetKind.UNION, True, ONE, TWO), Means.UNION),
        (Lasting(pairs(ONE, TWO), 5 * SECOND), Means.STAY),
        (SLIDING, Means.LOOKS),
        (Leading(SLIDING, (), 1), Means.FIRST),
        (Grouped(pairs(ONE, TWO), (), COUNT), Means.GROUPS_ALWAYS),
        (Grouped(SLIDING, (), COUNT), Means.GROUPS_AS_OF),
    ],
)
def test_what_carries_it_out(relation: Relation, by: Means) -> None:
    assert means(relation) is by


@pytest.mark.parametrize("by", Means)
def test_there_is_a_reason_for_each(by: Means) -> None:
    assert reason(by)
    passes = by in (Means.READS, Means.FILTER, Means.COLUMNS, Means.UNION, Means.FIRST, Means.TAP)
    assert bool(holds(by)) is not passes
