"""What the rows of streams are like: as far as level 1 tells anyway, and little more.

passing     which part of them each WHERE lets pass, and each condition of a signature or of a relation
distinct    how many values the keys of feeds have in a batch: columns and signatures; and by a sketch columns
            that rows are asked for the values of
joined      how many values the keys of joins have, among the rows that are held
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.batch import Batch
from weft.engine.intake import INTAKE
from weft.share.intakes import CONDITION
from weft.share.nodes import Op, StreamPlan
from weft.share.signatures import is_signature, read_signature

FADE = 0.9  # of what was counted, with every batch: what rows are like may change
LOOK = 16  # batches, of which one is looked at for the values of keys
MOST = 1 << 17  # cells of a feed that are looked at
KEPT = 1000  # predicates, and keys, of which a restart knows what was counted

Numbers = dict[str, dict[str, float]]  # by stream, and by predicate or key


class Census:
    """Rows, rows that pass, and values, by stream; the last ten batches or so. Kept with snapshots."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        kept = stored or {}
        self._lock = threading.Lock()  # one thread counts, others ask
        self._rows: Numbers = kept.get("rows", {})
        self._passed: Numbers = kept.get("passed", {})
        self._values: Numbers = kept.get("values", {})
        self._joined: Numbers = kept.get("joined", {})

    def to_json(self) -> dict[str, Any]:
        """Of each stream what was counted last."""
        with self._lock:
            return {
                "rows": _latest(self._rows),
                "passed": _latest(self._passed),
                "values": _latest(self._values),
                "joined": _latest(self._joined),
            }

    def count(self, batch: Batch) -> None:
        """Count a batch; one whose cells have been written elsewhere tells nothing."""
        rows, cells = _total(batch.table, "rows"), batch.table if batch.cells is None else batch.cells
        with self._lock:
            for where, name in _counts(batch.plan).items():
                if name in cells.column_names:
                    self._add(batch.stream, where, rows, _total(cells, name))
            for where, passed in _conditions(batch.standing.get(INTAKE)):
                self._add(batch.stream, where, rows, passed)
            if is_looked_at(batch.number):
                self._look(batch, cells, rows)

    def match(self, keys: Mapping[str, Mapping[str, int]]) -> None:
        """How many values the keys of joins have now, by stream."""
        with self._lock:
            for stream, mine in keys.items():
                self._joined.setdefault(stream, {}).update({key: float(n) for key, n in mine.items()})

    def _look(self, batch: Batch, cells: pa.Table, rows: float) -> None:
        """How many values keys have, and how many rows have each bit of signatures."""
        values = self._values.setdefault(batch.stream, {})
        values |= batch.values
        for root, key, name in _keys(batch):
            if name not in cells.column_names:
                continue
            mine = cells.filter(pc.equal(cells.column("feed"), root))
            values[key] = float(pc.count_distinct(mine.column(name).slice(0, MOST)).as_py())
            if is_signature(key) and mine.num_rows <= MOST:
                for condition, passed in _bits(batch.plan, root, key, mine, name):
                    self._add(batch.stream, condition, rows, passed)

    def _add(self, stream: str, where: str, rows: float, passed: float) -> None:
        for counted, more in ((self._rows, rows), (self._passed, passed)):
            mine = counted.setdefault(stream, {})
            mine[where] = FADE * mine.pop(where, 0.0) + more

    def passing(self, stream: str) -> dict[str, float]:
        """By predicate, which part of the rows it lets pass."""
        with self._lock:
            seen, passed = self._rows.get(stream, {}), self._passed.get(stream, {})
            return {where: min(1.0, passed[where] / rows) for where, rows in seen.items() if rows}

    def distinct(self, stream: str) -> dict[str, float]:
        """By key, how many values it had in a batch."""
        with self._lock:
            return dict(self._values.get(stream, {}))

    def joined(self, stream: str) -> dict[str, float]:
        """By key of a join, how many values it has."""
        with self._lock:
            return dict(self._joined.get(stream, {}))


def is_looked_at(batch: int) -> bool:
    """Are the values in this batch counted?"""
    return batch % LOOK == 0


def _latest(numbers: Numbers) -> Numbers:
    return {stream: dict(list(mine.items())[-KEPT:]) for stream, mine in numbers.items()}


def _total(table: pa.Table, name: str) -> float:
    return float(pc.sum(table.column(name)).as_py() or 0)


def _counts(plan: StreamPlan) -> dict[str, str]:
    """For each predicate a column of the level 1 table that counts the rows that pass."""
    return {
        partial.where.sql: f"f{root}_p{at}"
        for root in plan.roots
        for at, partial in enumerate(plan.feeds[root].partials)
        if partial.op is Op.COUNT and partial.arg is None and partial.where is not None
    }


def _conditions(rows: pa.Table | None) -> Iterator[tuple[str, float]]:
    """The conditions of relations, and how many of the rows that they are made of meet each."""
    for name in () if rows is None else rows.column_names:
        if name.startswith(CONDITION):
            yield name.removeprefix(CONDITION), _total(rows, name)


def _keys(batch: Batch) -> Iterator[tuple[int, str, str]]:
    """The keys of root feeds, each once: its feed, its text, its column of the level 1 table."""
    seen: set[str] = set()
    for root, places in batch.layout.items():
        feed = batch.plan.feeds[root]
        for key, place in zip(feed.keys, places, strict=True):
            if key.sql not in seen and not feed.extra:
                seen.add(key.sql)
                yield root, key.sql, f"g{place}"


def _bits(plan: StreamPlan, root: int, key: str, cells: pa.Table, name: str) -> Iterator[tuple[str, float]]:
    """By condition of a signature, in how many rows it holds, of those that are cells."""
    for at, partial in enumerate(plan.feeds[root].partials):
        if partial.op is Op.COUNT and partial.arg is None and partial.where is None:
            known = cells.filter(cells.column(name).is_valid())
            found = known.column(name).to_numpy()
            rows = known.column(f"f{root}_p{at}").to_numpy().astype(np.float64)
            for condition, bit in read_signature(key).bits.items():
                yield condition, float(rows[(found >> bit) & 1 == 1].sum())
