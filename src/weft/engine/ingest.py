"""What a batch leaves behind: the partials of its rows, its greatest event time, and what was wrong with it.

The file of a batch describes itself: its record says which columns hold which partial of which feed, so that
it can be folded under any later plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.windows import floored
from weft.kernels.arrow import whole
from weft.kernels.columns import ColumnSpec, part_columns
from weft.kernels.state import FeedState
from weft.share.nodes import Edges, Feed, Partial, StreamPlan
from weft.share.signatures import is_signature
from weft.times import Instant

CELL, UNWANTED, NO_TIME, AHEAD, CORRUPT = range(5)

FeedKey = tuple[bool, tuple[str, ...], int, int]  # has an extra key; keys as text; how many inner; strand


@dataclass(frozen=True, slots=True)
class Counts:
    """What level 1 counted in one batch."""

    rows: int
    no_time: int
    ahead: int
    corrupt: int
    late: int
    failed: Mapping[str, int]  # rows on which an expression failed, by query
    min_time: Instant | None
    max_time: Instant | None

    @property
    def bad(self) -> int:
        return self.no_time + self.ahead + self.corrupt + sum(self.failed.values())


def feed_key(feed: Feed) -> FeedKey:
    """What names a feed in the durable state."""
    return feed.extra, tuple(key.sql for key in feed.keys), feed.inner, feed.strand


def spec(partial: Partial) -> ColumnSpec:
    """The partial as the kernels know it."""
    return ColumnSpec(partial.text, str(partial.op), partial.type, partial.by_type)


def count(table: pa.Table, plan: StreamPlan) -> Counts:
    """The counts in a level 1 table: sums over its rows, by status."""
    status = table.column("status").to_numpy()
    rows = table.column("rows").fill_null(0).to_numpy()
    by_status = np.bincount(status, weights=rows, minlength=5).astype(np.int64)
    guards = {guard.query: _total(table, f"e{at}") for at, guard in enumerate(plan.guards)}
    valid = table.filter(pc.less(table.column("status"), NO_TIME))
    return Counts(
        rows=int(by_status.sum()),
        no_time=int(by_status[NO_TIME]),
        ahead=int(by_status[AHEAD]),
        corrupt=int(by_status[CORRUPT]),
        late=_total(table, "late"),
        failed={query: n for query, n in guards.items() if n},
        min_time=pc.min(valid.column("min_ts")).as_py(),
        max_time=pc.max(valid.column("max_ts")).as_py(),
    )


def totals(table: pa.Table) -> pa.Table:
    """A level 1 table with one row for each status: all that is counted, and nothing else."""
    sums = [name for name in table.column_names if name in ("rows", "late") or _is_guard(name)]
    wanted = [(name, "sum") for name in sums] + [("min_ts", "min"), ("max_ts", "max")]
    made = table.group_by("status").aggregate(wanted)
    return made.rename_columns(
        [name.removesuffix("_sum").removesuffix("_min").removesuffix("_max") for name in made.column_names]
    )


def _is_guard(name: str) -> bool:
    return name[0] == "e" and name[1:].isdigit()


def _total(table: pa.Table, name: str) -> int:
    return int(pc.sum(table.column(name)).as_py() or 0)


def describe(plan: StreamPlan, layout: Mapping[int, Sequence[int]]) -> list[dict[str, Any]]:
    """For the record: per feed of the plan the root it is combined from, its key columns and its partials.

    `layout` tells for each root the key columns `g<i>` that hold its keys, in order.
    """
    described = []
    for at, feed in enumerate(plan.feeds):
        root = at if feed.parent is None else feed.parent
        columns = {key: f"g{g}" for key, g in zip(plan.feeds[root].keys, layout[root], strict=True)}
        described.append(
            {
                "extra": feed.extra,
                "keys": [key.sql for key in feed.keys],
                "inner": feed.inner,
                "strand": feed.strand,
                "root": root,
                "key_columns": [columns[key] for key in feed.keys],
                "partials": [_describe_partial(partial, root, plan) for partial in feed.partials],
            }
        )
    return described


def _describe_partial(partial: Partial, root: int, plan: StreamPlan) -> dict[str, Any]:
    at = plan.feeds[root].partials.index(partial)
    return {
        "text": partial.text,
        "op": str(partial.op),
        "type": partial.type,
        "by_type": partial.by_type,
        "columns": part_columns(f"f{root}_p{at}", partial.op),
    }


def cells(table: pa.Table) -> pa.Table:
    """The rows of a level 1 table that are kept: its cells."""
    kept = table.filter(pc.equal(table.column("status"), CELL))
    dropped = [name for name in kept.column_names if name in ("status", "rows", "min_ts", "max_ts", "late")]
    dropped += [name for name in kept.column_names if _is_guard(name)]
    return kept.drop_columns(dropped)


@dataclass(frozen=True, slots=True)
class Fold:
    """The cells of one feed in one batch, ready for its state."""

    slices: npt.NDArray[np.int64]
    keys: list[pa.Array]
    columns: dict[ColumnSpec, dict[str, pa.Array]]

    def into(self, state: FeedState) -> None:
        state.fold(self.slices, self.keys, self.columns)


def folds(
    table: pa.Table,
    described: list[dict[str, Any]],
    wanted: Mapping[FeedKey, set[str]],
    since: Mapping[FeedKey, Instant],
    edges: Edges,
    strands: Mapping[int, Edges],
) -> list[tuple[FeedKey, Fold]]:
    """What the cells of one batch add to each of the `wanted` feeds, of the partials named there.

    Slices before `since` are left out: no window that is still to be answered holds them. `strands`: where
    these are cut, if there are several.
    """
    own = strands or ({0: edges} if edges.combined else {})
    cut = {strand: _combined(table, each) for strand, each in own.items()} or {0: table}
    roots = {d["root"] for d in described}
    by_root = {(strand, root): _of_root(cells, root) for strand, cells in cut.items() for root in roots}
    made = []
    for key, texts in wanted.items():
        for feed, partials in providers(described, key, texts):
            rows = by_root[key[3], feed["root"]]
            slices = rows.column("slice").to_numpy()
            if len(slices) and slices.min() < since[key]:
                rows = rows.filter(pa.array(slices >= since[key]))
            made.append((key, _fold(rows, feed, key, partials)))
    return made


def _combined(table: pa.Table, edges: Edges) -> pa.Table:
    """The cells with the slices that are kept instead of the finer ones of the batch."""
    at = table.schema.get_field_index("slice")
    kept = floored(table.column("slice").to_numpy(), edges.pairs)
    return table.set_column(at, "slice", pa.array(kept))


def _of_root(table: pa.Table, root: int) -> pa.Table:
    mine = pc.equal(table.column("feed"), root)
    return table if pc.all(mine).as_py() else table.filter(mine)


def _fold(rows: pa.Table, feed: dict[str, Any], key: FeedKey, partials: list[dict[str, Any]]) -> Fold:
    columns = {
        ColumnSpec(p["text"], p["op"], p["type"], p["by_type"]): {
            part: whole(rows.column(name)) for part, name in p["columns"].items()
        }
        for p in partials
    }
    names = dict(zip(feed["keys"], feed["key_columns"], strict=True))
    return Fold(
        rows.column("slice").to_numpy(), [whole(rows.column(names[part])) for part in key[1]], columns
    )


def providers(
    described: list[dict[str, Any]], key: FeedKey, texts: set[str]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The feeds of a batch that have these partials by `key`, or by more keys; each partial once.

    A batch is cut for all strands, so any of them will do.
    """
    missing = set(texts)
    for feed in sorted(described, key=lambda feed: not _is_by(described_key(feed), key)):
        if _is_by(described_key(feed), key) or is_finer(described_key(feed), key):
            found = [partial for partial in feed["partials"] if partial["text"] in missing]
            missing -= {partial["text"] for partial in found}
            if found:
                yield feed, found
            if not missing:
                return


def is_combined(described: list[dict[str, Any]], wanted: Mapping[FeedKey, set[str]]) -> bool:
    """Does any of the `wanted` feeds get cells from a finer one of the batch?"""
    return any(
        not _is_by(described_key(feed), key)
        for key, texts in wanted.items()
        for feed, _ in providers(described, key, texts)
    )


def described_key(feed: Mapping[str, Any]) -> FeedKey:
    return feed["extra"], tuple(feed["keys"]), feed.get("inner", 0), feed.get("strand", 0)


def is_finer(feed: FeedKey, key: FeedKey) -> bool:
    """Can the cells by `key` be combined from those of `feed`?

    Not where either has an extra key, nor where a signature would be lost: rows may be missing that none of
    those who picked by it asked for.
    """
    more = set(feed[1]) - set(key[1])
    is_possible = not (feed[0] or key[0] or any(map(is_signature, more)))
    return is_possible and not _is_by(feed, key) and set(key[1]) <= set(feed[1])


def _is_by(feed: FeedKey, key: FeedKey) -> bool:
    """Are both by the same keys, be it in different strands?"""
    return feed[:3] == key[:3]
