"""What a run says of itself that decides what its answers mean: how far streams had come, and when.

Rows that came late are there from when their stream was complete. A drain tells all that the rows of before
would ever give; what comes later begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from weft.engine.relations.bucket import saved_table
from weft.engine.relations.state import ARRIVALS, SAVED
from weft.engine.tally import Tally
from weft.log.answers import AnswerLog
from weft.log.home import Home
from weft.log.ingest import IngestLog
from weft.log.snapshots import Snapshot, Snapshots
from weft.times import BEGINNING, Instant

Positions = Mapping[str, int]
Meta = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drain:
    """All rows of the batches up to and including `positions` were told of to their ends."""

    positions: Positions
    tables: Positions  # the newest version that was used, by table
    epoch: int  # of the program that drained
    at: Instant  # the greatest event time of then: rows up to it are not seen any more
    complete: Instant  # before when all was final


@dataclass(frozen=True, slots=True)
class Run:
    """Where a home stands after its last step."""

    epoch: int  # of the program that made it
    positions: Positions
    tables: Positions  # the newest version that was used, by table
    watermarks: Mapping[str, Instant]
    horizon: Mapping[str, Instant] | None  # the watermarks of when rows were last let go; None: never
    drains: tuple[Drain, ...]
    forgotten: Instant  # there was a drain at this time of which only that is known; BEGINNING: none
    firsts: Mapping[str, Instant]  # when the first row of each stream came
    latest: Mapping[str, Instant]  # its greatest event time, also of batches that no step has seen
    standings: Mapping[tuple[str, int], Instant]  # how far streams were complete when a batch came
    tally: Tally

    def complete(self, streams: Sequence[str]) -> Instant:
        """Before when all is final of what rests on these streams; of tables alone, as far as any is."""
        return _complete(self.watermarks, streams)

    def let_go(self, streams: Sequence[str]) -> Instant:
        """As of then and later all rows are kept that are there, if rows have been let go at all."""
        return BEGINNING if self.horizon is None else _complete(self.horizon, streams)

    @property
    def is_drained(self) -> bool:
        """Was the last that happened a drain?"""
        return bool(self.drains) and self.drains[-1].positions == self.positions


def read_run(home: Home, streams: Sequence[str]) -> Run | None:
    """Where a home stands, for a query over these streams; None: it has made no step yet."""
    records, snapshots = AnswerLog(home).records(), Snapshots(home)
    if not records:
        return None
    snapshot, horizon = snapshots.latest(lambda _: True), snapshots.horizon()
    known = [record.meta for record in records]
    if records[0].number == 0:
        known = [{"positions": {}, "reach": {}}, *known]
    last = known[-1]
    return Run(
        last["epoch"],
        last["positions"],
        last.get("tables", {}),
        _watermarks(last),
        None if horizon is None else _watermarks(horizon),
        _drains(known, streams),
        _drained(known[0], streams),
        _firsts(home, streams, snapshot),
        _latest(home, streams, snapshot),
        _standings(known, snapshot),
        _tally(records, snapshot),
    )


def _complete(watermarks: Mapping[str, Instant], streams: Sequence[str]) -> Instant:
    if not streams:
        return max(watermarks.values(), default=BEGINNING)
    return min(watermarks.get(stream, BEGINNING) for stream in streams)


def _watermarks(meta: Meta) -> dict[str, Instant]:
    return {name: watermark for name, (watermark, _) in meta["reach"].items()}


def _drained(meta: Meta, streams: Sequence[str]) -> Instant:
    return max((meta["reach"].get(name, [0, BEGINNING])[1] for name in streams), default=BEGINNING)


def _drains(known: Sequence[Meta], streams: Sequence[str]) -> tuple[Drain, ...]:
    """The steps that drained one of the streams further than it was before."""

    def of(meta: Meta) -> list[Instant]:
        return [meta["reach"].get(name, [0, BEGINNING])[1] for name in streams]

    return tuple(
        Drain(
            now["positions"],
            now.get("tables", {}),
            now["epoch"],
            _drained(now, streams),
            _complete(_watermarks(now), streams),
        )
        for before, now in pairwise(known)
        if any(one > other for one, other in zip(of(now), of(before), strict=True))
    )


def _firsts(home: Home, streams: Sequence[str], snapshot: Snapshot | None) -> dict[str, Instant]:
    known = {} if snapshot is None else snapshot.meta["first"]
    found = {name: _times(home, name, "min_time", known) for name in streams}
    return {name: min(times) for name, times in found.items() if times}


def _latest(home: Home, streams: Sequence[str], snapshot: Snapshot | None) -> dict[str, Instant]:
    known = {} if snapshot is None else snapshot.meta["folded"]
    found = {name: _times(home, name, "max_time", known) for name in streams}
    return {name: max(times) for name, times in found.items() if times}


def _times(home: Home, stream: str, of: str, known: Mapping[str, Instant]) -> list[Instant]:
    """By what the snapshot remembers, and the batches since then."""
    times = [known.get(stream), *(record.meta[of] for record in IngestLog(home, stream).records())]
    return [at for at in times if at is not None]


def _standings(known: Sequence[Meta], snapshot: Snapshot | None) -> dict[tuple[str, int], Instant]:
    """By what the steps say, and for older batches what the snapshot remembers."""
    found: dict[tuple[str, int], Instant] = {}
    arrivals = None if snapshot is None else saved_table(snapshot, SAVED + ARRIVALS)
    if arrivals is not None:
        saved = arrivals.to_pydict()
        keys = zip(saved["stream"], saved["batch"], strict=True)
        found |= dict(zip(keys, saved["complete"], strict=True))
    for before, now in pairwise(known):
        for stream, last in now["positions"].items():
            complete = before["reach"].get(stream, [BEGINNING])[0]
            found |= {
                (stream, batch): complete
                for batch in range(before["positions"].get(stream, -1) + 1, last + 1)
            }
    return found


def _tally(records: Sequence[Any], snapshot: Snapshot | None) -> Tally:
    tally = Tally(None if snapshot is None else snapshot.meta["tally"])
    for record in records:
        if snapshot is None or record.number > snapshot.step:
            tally.add(record.meta["counts"])
    return tally
