"""What the rows of streams are like: as far as level 1 tells anyway, and little more.

passing     which part of them each WHERE lets pass, and each condition of a signature or of a relation
distinct    how many values the keys of feeds have in a batch: columns and signatures; and by a sketch columns
            that rows are asked for the values of
joined      how many values the keys of joins have, among the rows that are held

Cells are looked at where they are made, here or by executors, and only what they tell is put together. Rows
that no query wants are no cells: where there are such, rows are asked for the conditions of signatures.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.intake import INTAKE
from weft.kernels.arrow import whole
from weft.kernels.leasthashes import count_of, least_hashes, together
from weft.kernels.plain import Words
from weft.share.intakes import CONDITION
from weft.share.nodes import Op, StreamPlan
from weft.share.rowcolumns import key_layout
from weft.share.signatures import is_signature, read_signature, signatures_in

FADE = 0.9  # of what was counted, with every batch: what rows are like may change
LOOK = 16  # batches, of which one is looked at for the values of keys
KEPT = 1000  # predicates, and keys, of which it is known what was counted though it is some time ago

Numbers = dict[str, dict[str, float]]  # by stream, and by predicate or key


@dataclass(frozen=True, slots=True)
class Told:
    """What cells tell of the rows that they are made of."""

    passed: Mapping[str, float]  # by predicate or condition: how many rows it lets pass
    values: Mapping[str, Words]  # by key: a sketch of its values


@dataclass(frozen=True, slots=True)
class Asked:
    """What rows were asked, once in a while, because no cell tells it."""

    values: Mapping[str, float] = field(default_factory=dict)  # by column: how many it has
    passed: Mapping[str, float] = field(default_factory=dict)  # by condition: how many rows meet it


def told_by(cells: pa.Table, standing: Mapping[str, pa.Table], plan: StreamPlan, values: bool) -> Told:
    """What the cells of some rows, and those of them that relations want, tell; of `values` if asked to."""
    passed: dict[str, float] = {}
    found: dict[str, Words] = {}
    for root, key, name in _keys(plan) if values else ():
        mine = cells.filter(pc.equal(cells.column("feed"), root))
        found[key] = least_hashes(whole(mine.column(name)))
        if is_signature(key) and plan.wanted is None:
            passed |= dict(_bits(plan, root, key, mine, name))
    passed |= {where: _total(cells, name) for where, name in _counts(plan).items()}
    passed |= dict(_conditions(standing.get(INTAKE)))
    return Told(passed, found)


def unknown_conditions(plan: StreamPlan) -> tuple[str, ...]:
    """The conditions of signatures of which cells do not tell how many rows meet them."""
    found = signatures_in(plan) if plan.wanted is not None else ()
    return tuple(dict.fromkeys(condition for each in found for condition in each.bits))


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

    def count(self, stream: str, rows: int, told: Sequence[Told], asked: Asked) -> None:
        """Take in what the cells of a batch of so many rows tell, and what rows were asked."""
        passed, sketches = Counter[str](), defaultdict[str, list[Words]](list)
        for each in told:
            passed.update(each.passed)
            for key, sketch in each.values.items():
                sketches[key].append(sketch)
        if not rows:  # an empty batch says nothing of values
            return
        known = {**passed, **asked.passed}  # of both, rows are asked of all
        values = {key: round(count_of(together(some)), 1) for key, some in sketches.items()}
        values.update(asked.values)
        with self._lock:
            _add(self._rows.setdefault(stream, {}), dict.fromkeys(known, float(rows)))
            _add(self._passed.setdefault(stream, {}), known)
            _note(self._values.setdefault(stream, {}), values)

    def match(self, keys: Mapping[str, Mapping[str, int]]) -> None:
        """How many values the keys of joins have now, by stream."""
        with self._lock:
            for stream, mine in keys.items():
                _note(self._joined.setdefault(stream, {}), {key: float(n) for key, n in mine.items()})

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


def _add(known: dict[str, float], more: Mapping[str, float]) -> None:
    _note(known, {one: FADE * known.get(one, 0.0) + number for one, number in more.items()})


def _note(known: dict[str, float], fresh: Mapping[str, float]) -> None:
    """Fresh numbers come last; of all others those stay that came last."""
    for one, number in fresh.items():
        known.pop(one, None)
        known[one] = number
    for one in list(islice(known, max(0, len(known) - len(fresh) - KEPT))):
        del known[one]


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


def _keys(plan: StreamPlan) -> Iterator[tuple[int, str, str]]:
    """The keys of root feeds, each once: its feed, its text, its column of the level 1 table."""
    seen: set[str] = set()
    for root, places in key_layout(plan).items():
        feed = plan.feeds[root]
        for key, place in zip(feed.keys, places, strict=True):
            if key.sql not in seen and not feed.extra:
                seen.add(key.sql)
                yield root, key.sql, f"g{place}"


def _bits(plan: StreamPlan, root: int, key: str, cells: pa.Table, name: str) -> Iterator[tuple[str, float]]:
    """By condition of a signature, in how many rows it holds, where all rows are cells."""
    for at, partial in enumerate(plan.feeds[root].partials):
        if partial.op is Op.COUNT and partial.arg is None and partial.where is None:
            known = cells.filter(cells.column(name).is_valid())
            found = known.column(name).to_numpy()
            rows = known.column(f"f{root}_p{at}").to_numpy().astype(np.float64)
            for condition, bit in read_signature(key).bits.items():
                yield condition, float(rows[(found >> bit) & 1 == 1].sum())
