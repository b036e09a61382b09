"""What one unit of each kind of work takes on a machine, in CPU-seconds.

Shipped numbers serve until the machine is measured (`weft calibrate`); `origin` says which they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from weft.share.members import is_ranked
from weft.share.nodes import Op, Partial

VERSION = 2  # of what the constants mean

SHIPPED_AS = "as shipped"


class Kind(StrEnum):
    """Kinds of partials that cost alike; the final method follows from the kind."""

    COUNT = "count"  # running sums
    SUM = "sum"  # running sums
    FLOAT = "float"  # blocks
    EXTREME = "extreme"  # blocks
    MOMENTS = "moments"  # blocks
    PAIR = "pair"  # blocks: a value and what it is chosen by
    RANKED = "ranked"  # ranks, then blocks


RUNNING_SUMS = frozenset({Kind.COUNT, Kind.SUM})


def kind_of(partial: Partial) -> Kind:
    if is_ranked(partial.type) or is_ranked(partial.by_type):
        return Kind.SUM if partial.op in (Op.SUM_DECIMAL, Op.SUM_WIDE) else Kind.RANKED
    match partial.op:
        case Op.COUNT:
            return Kind.COUNT
        case Op.SUM_INT | Op.SUM_LONG | Op.SUM_DECIMAL | Op.SUM_WIDE:
            return Kind.SUM
        case Op.SUM_FLOAT:
            return Kind.FLOAT
        case Op.MIN | Op.MAX:
            return Kind.EXTREME
        case Op.MOMENTS:
            return Kind.MOMENTS
        case Op.FIRST | Op.LAST | Op.MIN_BY | Op.MAX_BY:
            return Kind.PAIR


@dataclass(frozen=True, slots=True)
class Constants:
    """CPU-seconds for each unit of work."""

    row: float  # a row read: its event time, its slice
    predicate: float  # a row asked for one distinct predicate
    key: float  # a row brought to its group in one root feed
    partial: Mapping[Kind, float]  # a row added to one partial
    by_columns: float  # which part of all this it takes where files are read by columns, not by Spark
    made: float  # a cell of a batch brought to the driver and into the log
    made_part: float  # and each of its partials
    cell: float  # a cell folded into the state of a feed
    fold: Mapping[Kind, float]  # and each of its partials
    place: Mapping[Kind, float]  # a slice and group without a cell, for each partial of a matrix
    select: float  # a window and group found present, once for all queries with that window and predicate
    final: Mapping[Kind, float]  # the value of one partial for one window and group
    sparse: float  # how many times as much where cells are a list, because most groups are in few slices
    block: float  # what each doubling of the slices of a window adds, where blocks are combined
    distinct: float  # a value (or sketch register) of a window counted
    answer: float  # a row of answers made and written
    value: float  # and each of its columns
    sink: float  # the answers of a query in a step handed to its sink
    batch: float  # whatever a batch holds
    step: float  # whatever a step answers
    query: float  # a query that has something to answer in a step
    called: Mapping[Kind, float]  # and each kind of partials it asks for; of blocks, with every doubling anew
    told: float  # and its answers, whatever they hold
    feed: float  # a feed that a batch is folded into
    part: float  # and each of its partials
    kept: float  # a row of a join put where others look for it
    lookup: float  # a row that looks for others in one class
    looked: float  # and each of those that it looks at there
    change: float  # a row that begins to hold, or ends, matched where rows may be taken back
    counted: float  # and each time that it is counted among equal ones
    origin: str = SHIPPED_AS

    def units(self) -> Iterator[tuple[str, float]]:
        """Each constant with its name, those by kind one by one."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Mapping):
                yield from ((f"{field.name} {kind}", seconds) for kind, seconds in value.items())
            elif isinstance(value, float):
                yield field.name, value

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION} | asdict(self)

    @staticmethod
    def from_json(found: Any) -> Constants | None:
        """Those that were kept; None if they were measured for another version, or are none."""
        names = {field.name for field in fields(Constants)}
        if not isinstance(found, Mapping) or found.get("version") != VERSION:
            return None
        if names != found.keys() - {"version"}:
            return None
        by_kind = {
            name: {Kind(kind): seconds for kind, seconds in value.items()}
            for name, value in found.items()
            if isinstance(value, Mapping)
        }
        return Constants(**{name: found[name] for name in names} | by_kind)


def _nanoseconds(*values: float) -> dict[Kind, float]:
    return {kind: value * 1e-9 for kind, value in zip(Kind, values, strict=True)}


def _microseconds(*values: float) -> dict[Kind, float]:
    return _nanoseconds(*(1000 * value for value in values))


SHIPPED = Constants(
    row=400e-9,
    predicate=20e-9,
    key=250e-9,
    partial=_nanoseconds(15, 30, 20, 25, 80, 150, 300),
    by_columns=0.4,
    made=1000e-9,
    made_part=200e-9,
    cell=85e-9,
    fold=_nanoseconds(14, 32, 12, 16, 40, 42, 30),
    place=_nanoseconds(27, 27, 12, 12, 12, 12, 12),
    select=16e-9,
    final=_nanoseconds(5, 21, 20, 25, 115, 75, 80),
    sparse=3.0,
    block=9e-9,
    distinct=85e-9,
    answer=30e-9,
    value=42e-9,
    sink=3e-3,
    batch=0.35,
    step=0.004,
    query=350e-6,
    called=_microseconds(60, 190, 40, 70, 95, 85, 110),
    told=1e-3,
    feed=1e-3,
    part=60e-6,
    kept=450e-9,
    lookup=120e-9,
    looked=100e-9,
    change=1500e-9,
    counted=600e-9,
)
