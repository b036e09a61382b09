"""How many groups keys make: as counted, else by what is known of each of them."""

from __future__ import annotations

import pytest

from weft.share.model.load import Load
from weft.share.model.measured import StreamMeasured

INTERVAL = "WEFT_INTERVAL(price > 1, price > 2)"
SIGNATURE = "WEFT_SIGNATURE(price > 1, qty > 2)"


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ((), 1.0),
        (("a",), 5.0),  # counted alone
        (("b",), 20.0),  # its values
        (("b", "a"), 60.0),  # counted together, in whichever order
        (("b", "c"), 80.0),  # as if they did not depend on each other
        (("c", "d"), 300.0),  # no more than by finer keys
        (("x",), 70.0),  # nobody knows
        (("x", "y"), 70.0),
        (("x", INTERVAL), 210.0),
        ((SIGNATURE,), 4.0),
    ],
)
def test_groups_of_keys(keys: tuple[str, ...], groups: float) -> None:
    counted = {("a",): 5.0, ("a", "b"): 60.0, ("c", "d", "e"): 300.0}
    load = Load(groups=70.0, counted=counted, distinct={"b": 20.0, "c": 4.0, "d": 1000.0})
    assert load.groups_for(keys) == groups


def test_where_no_group_has_been_seen_there_may_be_one() -> None:
    load = StreamMeasured(100.0, 50_000, 100, 100, groups={("a",): 0}, distinct={"a": 0.0}).load()
    assert load is not None
    assert (load.groups, load.groups_for(("a",)), load.values_of("a")) == (1.0, 1.0, 1.0)
    assert load.with_groups(10.0).groups_for(("a",)) == 10.0


def test_there_are_no_more_intervals_than_were_cut() -> None:
    load = Load(distinct={INTERVAL: 2.0})
    assert load.values_of(INTERVAL) == 2.0
    assert load.with_groups(1e6).values_of(INTERVAL) == 3.0


@pytest.mark.parametrize(
    ("passing", "found", "part"),
    [({}, 4.0, 0.25), ({"price > 1": 0.0}, 2.0, 0.5), ({"price > 1": 1.0, "qty > 2": 1.0}, 1.0, 1.0)],
)
def test_signatures_are_as_many_as_conditions_tell_rows_apart(
    passing: dict[str, float], found: float, part: float
) -> None:
    load, bits = Load(passing=passing), ("price > 1", "qty > 2")
    assert (load.signatures(bits), load.part_with(bits)) == (found, part)


def test_signatures_are_no_more_than_were_counted() -> None:
    load = Load(distinct={SIGNATURE: 3.0})
    assert load.signatures(["price > 1", "qty > 2"]) == 3.0
    assert load.signatures(["price > 1"]) == 2.0
    assert load.signatures(["price > 1", "qty > 5"]) == 4.0
