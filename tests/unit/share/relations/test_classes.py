"""Which lengths of a chain lie together: whatever costs less to look through."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from weft.lang.parse import parse_expression
from weft.share.model.constants import SHIPPED
from weft.share.model.load import Load
from weft.share.relations.classes import Probed, Shelves, shelves
from weft.share.relations.links import Wanted
from weft.times import HOUR, MINUTE, SECOND, Duration

MANY = Load(rows=10_000.0, groups=100.0, rows_by="given", groups_by="given")
FEW = Load(rows=1.0, groups=100_000.0, rows_by="given", groups_by="given")


def wanted(range_: Duration | None, where: str | None = None) -> Wanted:
    return Wanted(None if where is None else parse_expression(where), range_, ())


def found(*some: Wanted, load: Load = MANY, keys: float | None = None, looked: float = 1e-7) -> Shelves:
    return shelves(some, load, Probed(load, keys or load.groups, replace(SHIPPED, looked=looked)))


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
    assert found(*some, load=FEW, keys=1.0).looked_at > found(*some, load=FEW).looked_at


def test_every_length_lies_in_one_class_in_order() -> None:
    lengths = [at * 7 * SECOND for at in range(1, 30)]
    made = found(*(wanted(each, f"v > {each}") for each in lengths))
    assert [each for some in made.classes for each in some] == lengths
    assert all(one[-1] < other[0] for one, other in pairwise(made.classes))
    assert 1 < len(made.classes) < len(lengths)


def test_a_condition_that_few_rows_meet_keeps_lengths_apart() -> None:
    some, half = (wanted(MINUTE), wanted(HOUR, "v > 1")), Load(rows=20.0, groups=2000.0, groups_by="given")
    assert found(*some, load=half).classes == ((MINUTE,), (HOUR,))
    most = replace(half, passing={"v > 1": 0.99})
    assert found(*some, load=most).classes == ((MINUTE, HOUR),)


def test_what_looking_takes_on_the_machine_decides() -> None:
    some = wanted(MINUTE), wanted(HOUR, "v > 1")
    assert found(*some, looked=1e-13).classes == ((MINUTE, HOUR),)


def test_classes_that_are_given_are_what_is_counted_with() -> None:
    some, probed = [wanted(MINUTE), wanted(HOUR, "v > 1")], Probed(MANY, 100.0, SHIPPED)
    given = shelves(some, MANY, probed, ((MINUTE, HOUR),))
    assert given.classes == ((MINUTE, HOUR),)
    assert given.cost > shelves(some, MANY, probed).cost
    assert shelves(some, MANY, probed, ((MINUTE,),)).classes == ((MINUTE,), (HOUR,))  # of other lengths


def test_rows_wanted_for_ever_have_no_class_here() -> None:
    assert found(wanted(None)).classes == ()
    assert found(wanted(None), wanted(MINUTE)).classes == ((MINUTE,),)
