"""In which order joins of several streams look through their windows."""

from __future__ import annotations

from itertools import permutations

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
