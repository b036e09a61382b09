"""In which order joins of several streams look through their windows."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa

from benchmarks.orders import JOINS, Joined
from tests.unit.engine.relations.loom import Loom
from weft.engine.relations.joining import Joining
from weft.optimize.pipeline import optimize_program
from weft.testing.harness import bound

STREAM = (
    "CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF "
    "FROM parquet OPTIONS ('path' = 'unread');"
)


def test_every_order_has_keys_where_all_streams_are_joined_on_one_column() -> None:
    made = Joined(JOINS["three, one fast"])
    assert all(made.join.has_keys(order) for order in permutations(range(3)))


def test_an_order_that_pairs_all_with_all_has_no_keys() -> None:
    text = "".join(STREAM.format(name=name) for name in "abc")
    joins = "a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] ON a.k = b.k JOIN c [RANGE 1 SECOND] ON a.v = c.v"
    loom = Loom(optimize_program(bound(f"{text}CREATE QUERY q AS SELECT a.k FROM {joins};")))
    (join,) = [each.operator for each in loom.relations.graph.nodes() if isinstance(each.operator, Joining)]
    assert join.has_keys((0, 1, 2))
    assert not join.has_keys((1, 2, 0))


def test_another_order_has_rows_sorted_by_keys_that_they_are_not_found_by() -> None:
    text = "".join(STREAM.format(name=name) for name in "abc")
    joins = "a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] ON a.k = b.k JOIN c [RANGE 1 SECOND] ON b.v = c.v"
    loom = Loom(optimize_program(bound(f"{text}CREATE QUERY q AS SELECT a.k FROM {joins};")))
    (join,) = [each.operator for each in loom.relations.graph.nodes() if isinstance(each.operator, Joining)]
    assert join.to_sort((2, 1, 0)) == 0  # nothing is held yet
    times = pa.array([0] * 5, pa.timestamp("us", tz="UTC"))
    for stream in "abc":
        loom.feed(stream, pa.table({"k": [1] * 5, "v": [2] * 5, "at": times}))
    assert join.to_sort(join.order) == 0
    assert join.to_sort((2, 1, 0)) == 5 + 5  # b by v alone for rows of c, all of c for rows of a
