"""Which lengths of a chain lie together: whatever costs less to look through."""

from __future__ import annotations

from itertools import pairwise

from weft.lang.parse import parse_expression
from weft.share.model.load import Load
from weft.share.relations.classes import Shelves, shelves
from weft.share.relations.links import Wanted
from weft.times import HOUR, MINUTE, SECOND, Duration

MANY = Load(rows=10_000.0, groups=100.0, rows_by="given", groups_by="given")
FEW = Load(rows=1.0, groups=100_000.0, rows_by="given", groups_by="given")


def wanted(range_: Duration | None, where: str | None = None) -> Wanted:
    return Wanted(None if where is None else parse_expression(where), range_, ())


def found(*some: Wanted, load: Load = MANY, keyed: bool = True) -> Shelves:
    return shelves(some, keyed, load, load)


def test_lengths_that_no_row_ends_with_are_not_looked_for() -> None:
    made = found(wanted(MINUTE), wanted(HOUR))
    assert made.classes == ((MINUTE, HOUR),)
    assert made.cost < made.apart


def test_rows_that_only_short_windows_want_lie_apart() -> None:
    made = found(wanted(MINUTE), wanted(HOUR, "v > 1"))
    assert made.classes == ((MINUTE,), (HOUR,))
    assert made.cost == made.apart


def test_where_few_rows_are_looked_at_a_look_up_less_is_worth_more() -> None:
    assert found(wanted(MINUTE), wanted(HOUR, "v > 1"), load=FEW).classes == ((MINUTE, HOUR),)


def test_without_keys_all_rows_are_looked_at() -> None:
    some = wanted(MINUTE), wanted(HOUR, "v > 1")
    assert found(*some, load=FEW, keyed=False).looked_at > found(*some, load=FEW).looked_at


def test_every_length_lies_in_one_class_in_order() -> None:
    lengths = [at * 7 * SECOND for at in range(1, 30)]
    made = found(*(wanted(each, f"v > {each}") for each in lengths))
    assert [each for some in made.classes for each in some] == lengths
    assert all(one[-1] < other[0] for one, other in pairwise(made.classes))
    assert 1 < len(made.classes) < len(lengths)


def test_rows_wanted_for_ever_have_no_class_here() -> None:
    assert found(wanted(None)).classes == ()
    assert found(wanted(None), wanted(MINUTE)).classes == ((MINUTE,),)
