"""The history of a program is the sum of its changes."""

from __future__ import annotations

import pytest

from weft.errors import Bug, RunError
from weft.log.catalog import Catalog, NewQuery, Switch, Switched
from weft.log.home import Home


def test_versions_of_a_query(home: Home) -> None:
    catalog = Catalog(home)
    catalog.change(effective={"t": 0}, add=[NewQuery("a", "A1"), NewQuery("b", "B1")], streams={"t": "T"})
    catalog.change(effective={"t": 5}, drop=["a"], add=[NewQuery("a", "A2", bound=17)])
    catalog.change(effective={"t": 7}, drop=["a"])
    catalog.change(effective={"t": 9}, add=[NewQuery("a", "A1")])
    for seen in (catalog, Catalog(home)):
        assert [(v.key, v.text, v.bound, v.added, v.dropped) for v in seen.versions("a")] == [
            ("a@1", "A1", None, 0, 1),
            ("a@2", "A2", 17, 1, 2),
            ("a@3", "A1", None, 3, None),
        ]
        assert [query.key for query in seen.queries()] == ["b@1", "a@3"]
        assert [query.key for query in seen.queries_in(1)] == ["a@2", "b@1"]
        assert [query.key for query in seen.queries_in(2)] == ["b@1"]
        assert seen.streams == {"t": "T"}
        assert [(epoch.added, epoch.dropped) for epoch in seen.epochs] == [
            (("a@1", "b@1"), ()),
            (("a@2",), ("a@1",)),
            ((), ("a@2",)),
            (("a@3",), ()),
        ]


def test_a_query_is_switched_and_that_is_settled(home: Home) -> None:
    catalog = Catalog(home)
    catalog.change(effective={"t": 0}, add=[NewQuery("a", "A1", picks_by=("x",)), NewQuery("b", "B1")])
    catalog.change(effective={"t": 5}, switch=[Switch("a", ("y",), 17)])
    (first, _) = Catalog(home).queries()
    assert (first.key, first.picks_by, first.switched) == ("a@1", ("y",), Switched(17, ("x",), 1))
    catalog.change(effective={"t": 7}, settle=["a"])
    for seen in (catalog, Catalog(home)):
        assert seen.queries()[0].switched == Switched(17, None, 1)
        assert [(one.switched, one.settled) for one in seen.epochs] == [
            ((), ()),
            (("a@1",), ()),
            ((), ("a@1",)),
        ]
    with pytest.raises(Bug, match="cannot change"):
        catalog.change(effective={"t": 9}, switch=[Switch("c", (), 20)])
    assert len(Catalog(home).epochs) == 3


def test_the_epoch_of_a_batch(home: Home) -> None:
    catalog = Catalog(home)
    assert catalog.epoch_at("t", 0) is None
    catalog.change(effective={"t": 0})
    catalog.change(effective={"t": 5})
    catalog.change(effective={"u": 3})  # does not concern t: in force from where the one before was
    found = {batch: catalog.epoch_at("t", batch) for batch in (0, 4, 5, 9)}
    assert {batch: epoch and epoch.number for batch, epoch in found.items()} == {0: 0, 4: 0, 5: 2, 9: 2}
    found = {batch: catalog.epoch_at("u", batch) for batch in (0, 2, 3)}
    assert {batch: epoch and epoch.number for batch, epoch in found.items()} == {0: 1, 2: 1, 3: 2}


@pytest.mark.parametrize(
    ("add", "drop"), [([NewQuery("a", "x")], []), ([], ["z"]), ([NewQuery("n", "x"), NewQuery("n", "y")], [])]
)
def test_an_impossible_change_changes_nothing(home: Home, add: list[NewQuery], drop: list[str]) -> None:
    catalog = Catalog(home)
    catalog.change(effective={}, add=[NewQuery("a", "A1")])
    with pytest.raises(Bug):
        catalog.change(effective={}, add=add, drop=drop)
    assert len(Catalog(home).epochs) == 1


def test_a_stream_belongs_to_one_spark_query(home: Home) -> None:
    catalog = Catalog(home)
    catalog.bind_spark_query("t", "id-1")
    catalog.bind_spark_query("u", "id-2")
    again = Catalog(home)
    again.bind_spark_query("t", "id-1")
    assert again.spark_query("u") == "id-2"
    with pytest.raises(RunError) as caught:
        again.bind_spark_query("t", "id-3")
    assert caught.value.code == "checkpoint-of-another-log"
    assert Catalog(home).spark_query("t") == "id-1"


def test_a_change_that_another_was_before_is_not_taken_for_done(home: Home) -> None:
    mine, other = Catalog(home), Catalog(home)
    other.change(effective={}, add=[NewQuery("a", "A1")])
    with pytest.raises(RunError) as caught:
        mine.change(effective={}, add=[NewQuery("b", "B1")])
    assert caught.value.code == "home-taken"
    assert [query.key for query in Catalog(home).queries()] == ["a@1"]


def test_records_are_for_people_too(home: Home) -> None:
    Catalog(home).change(effective={"t": 0}, add=[NewQuery("vwap", "SELECT 1")], reason="program")
    text = (home.path / "catalog" / "000000000000.json").read_text()
    assert '"vwap", 1, "SELECT 1"' in text
    assert text.count("\n") > 4
