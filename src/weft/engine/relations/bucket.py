"""What the driver asks of the relations in buckets in a step, and how a bucket does it.

    errand ─► its relations, cached or rebuilt ─► fold its part of the rows ─► answer ─► files, and word

What is cached is a cache: a bucket that finds nothing, or something of another moment, begins with the last
snapshot, reads the rows that are still in some window from the log, and does the steps since once more,
silently. That what it wrote counts is for the driver to record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from weft.engine.buckets import Share
from weft.engine.errands import Cache
from weft.engine.intake import is_apart, part_name, rows_together
from weft.engine.relations.evaluate import without_spark
from weft.engine.relations.parting import RowsBy, part, places
from weft.engine.relations.state import ARRIVALS, SAVED, Relations
from weft.engine.windows import Reach, Times
from weft.kernels.arrow import whole
from weft.kernels.relations.tables import NEVER, take
from weft.log.bundle import Bundle, write_bundle
from weft.log.home import Home
from weft.log.ingest import IngestLog, IngestRecord
from weft.log.snapshots import Snapshot, Snapshots
from weft.plan.nodes import Program
from weft.plan.relationtree import streams
from weft.share.model.forecast import Basis
from weft.share.nodes import SharedPlan
from weft.share.relations.bucketing import key_columns
from weft.times import Instant


@dataclass(frozen=True, slots=True)
class Moment:
    """How far all streams are: up to which batch, before when they are complete, their greatest times."""

    positions: Mapping[str, int] = field(default_factory=dict)
    reach: Mapping[str, Reach] = field(default_factory=dict)
    latest: Mapping[str, Instant] = field(default_factory=dict)

    def told(self) -> list[Any]:
        """The same as JSON has it."""
        reach = [[name, at.watermark, at.drained] for name, at in sorted(self.reach.items())]
        return [[list(pair) for pair in sorted(self.positions.items())], reach]


@dataclass(frozen=True, slots=True)
class Relating:
    """One step of the relations in buckets, the same for all of these."""

    home: str  # a path, or a URL
    run: str  # names this run of the program: what is cached belongs to it alone
    buckets: int
    version: int  # of the plan: what is cached may be of another
    base: int | None  # the snapshot that a bucket without cached relations begins with
    steps: tuple[Moment, ...]  # since then; the last is where the errand begins
    before: Moment
    now: Moment
    first: Mapping[str, int]  # the oldest batch of each stream that the log holds
    answers: str  # how the names of files with answers begin
    snapshot: str | None = None  # how those with a snapshot begin, if one is asked for

    @property
    def stream(self) -> str:
        """No stream has this name."""
        return ""

    @property
    def begins(self) -> list[Any]:
        return self.before.told()

    @property
    def ends(self) -> list[Any]:
        return self.now.told()


@dataclass(frozen=True, slots=True, eq=False)
class Spreading:
    """The queries whose relations lie in buckets; of its streams the program says when rows happened.

    `basis`: what was known of the streams when the queries came.
    """

    plan: SharedPlan
    program: Program
    bounds: Mapping[str, Instant]
    basis: Basis = field(default_factory=Basis)

    def adopted_by(self, relations: Relations) -> None:
        relations.adopt(self.plan, self.program, self.bounds, basis=self.basis)

    def streams(self) -> set[str]:
        return {name for each in self.plan.related for name in streams(each.relation)}


@dataclass(frozen=True, slots=True)
class Related:
    """What a bucket has done. Its answers lie in files, under the names of their queries."""

    bucket: int
    answers: Bundle
    windows: Mapping[str, Times]  # by query the ends of the windows that it tells of
    late: Mapping[str, int]
    failed: Mapping[str, int]
    snapshot: Bundle
    rows: int
    nbytes: int
    waits: bool  # for streams to go on, with something to tell then
    reloaded: bool


@dataclass(slots=True)
class Held:
    """The relations of a bucket, and the version of the plan that they are of."""

    version: int
    relations: Relations


def relate(errand: Relating, plan: Spreading, bucket: int, cache: Cache) -> Related:
    """Do the part of a bucket."""
    home = Home.look(errand.home)
    logs = _Logs(home, Share(bucket, errand.buckets), plan)
    cached: Held | None = cache.take(errand, bucket)
    held = Held(errand.version, _rebuilt(errand, plan, logs)) if cached is None else cached
    relations = held.relations
    if held.version != errand.version:
        plan.adopted_by(relations)
        held.version = errand.version
    answers = {} if errand.now == errand.before else logs.step(relations, errand.before, errand.now)
    for stream, first in errand.first.items():
        relations.arrivals.forget(stream, first - 1)
    told = Related(
        bucket=bucket,
        answers=write_bundle(home.path / "answers", errand.answers, answers, "answers.data"),
        windows={name: _ends(table) for name, table in answers.items() if "window_end" in table.column_names},
        late=relations.late(),
        failed=relations.failed(),
        snapshot=_save(relations, errand, home, bucket),
        rows=relations.rows,
        nbytes=relations.nbytes,
        waits=relations.waits(dict.fromkeys(errand.now.reach, Reach(NEVER))),
        reloaded=cached is None,
    )
    cache.put(errand, bucket, held)
    return told


@dataclass(frozen=True, slots=True)
class _Logs:
    """The rows of all streams that lie in one bucket."""

    home: Home
    share: Share
    plan: Spreading

    def step(self, relations: Relations, before: Moment, now: Moment) -> dict[str, pa.Table]:
        """Take in what came from one moment to the next, and answer."""
        for stream in sorted(self.plan.streams()):
            for number, rows in self._batches(stream, before.positions.get(stream, -1) + 1, now):
                relations.fold(stream, number, rows)
        return relations.answer(now.reach, now.latest)

    def refill(self, relations: Relations, first: Mapping[str, int], then: Moment) -> None:
        """Take in again what had come by some moment, as far as it is still there."""
        for stream in sorted(self.plan.streams()):
            for number, rows in self._batches(stream, first.get(stream, 0), then):
                relations.refill(stream, number, rows)
        relations.refilled(then.reach, then.latest)

    def _batches(self, stream: str, first: int, upto: Moment) -> Iterator[tuple[int, RowsBy]]:
        log = IngestLog(self.home, stream, listed=False)
        for number in range(first, upto.positions.get(stream, -1) + 1):
            yield number, cache(partial(self._rows, log, log.read(number)))

    def _rows(self, log: IngestLog, record: IngestRecord, by: tuple[str, ...]) -> pa.Table:
        """The rows of a batch that lie in the bucket, where they are parted by this."""
        name = part_name(by, self.share.bucket)
        if record.meta["buckets"] == self.share.buckets and is_apart(record, by):
            return log.load(record, name) if name in record.tables else _NOTHING
        rows = rows_together(record, lambda each: log.load(record, each))
        return _NOTHING if rows is None else part(rows, by, self.share)


_NOTHING = pa.table({})


def _rebuilt(errand: Relating, plan: Spreading, logs: _Logs) -> Relations:
    """The relations as the errand begins, from the last snapshot and the log."""
    relations = Relations(without_spark)
    plan.adopted_by(relations)
    at = Moment()
    if errand.base is not None:
        snapshot = Snapshots(logs.home).open(errand.base)
        at = moment_of(snapshot.meta)
        relations.restore(_Saved(snapshot, relations, logs.share).table, at.reach)
        logs.refill(relations, errand.first, at)
    for step in errand.steps:
        logs.step(relations, at, step)
        at = step
    relations.late()
    relations.failed()
    return relations


def moment_of(meta: Mapping[str, Any]) -> Moment:
    """The moment that a snapshot is of."""
    reach = {name: Reach(*pair) for name, pair in meta["reach"].items()}
    return Moment(dict(meta["positions"]), reach, dict(meta["folded"]))


class _Saved:
    """What a snapshot holds of the relations of a bucket, wherever these lay then."""

    def __init__(self, snapshot: Snapshot, relations: Relations, share: Share) -> None:
        self._snapshot, self._share = snapshot, share
        self._keys = {SAVED + name: key_columns(of) for name, of in relations.saved_of().items()}

    def table(self, name: str) -> pa.Table | None:
        found = saved_table(self._snapshot, name)
        if found is None or name not in self._keys or not found.num_rows:
            return found
        keys = [found.column(at) for at in self._keys[name]]
        place = places(keys, found.num_rows, self._share.buckets)
        return take(found, np.flatnonzero(place == self._share.bucket))


def saved_table(snapshot: Snapshot, name: str) -> pa.Table | None:
    """A table that relations have saved; None: there is none.

    What lay in the driver as well as in buckets is whole there; else the parts of all buckets are put
    together, as are the batches that either had taken in.
    """
    in_driver = name in snapshot.data.tables and name != SAVED + ARRIVALS
    if in_driver and (found := snapshot.table(name)).num_rows:
        return found
    parts = [each for each in snapshot.data.tables if each == name or each.startswith(f"{name}{_BUCKET}")]
    tables = [table for table in map(snapshot.table, sorted(parts)) if table.num_rows]
    if not tables:
        return snapshot.table(parts[0]) if parts else None
    return pa.concat_tables(tables)


_BUCKET = ":bucket "  # in the names of tables of a snapshot, before the number


def _save(relations: Relations, errand: Relating, home: Home, bucket: int) -> Bundle:
    if errand.snapshot is None:
        return Bundle()
    tables = {f"{name}{_BUCKET}{bucket}": table for name, table in relations.save().items()}
    return write_bundle(home.path / "snapshots", errand.snapshot, tables, "snapshots.data")


def _ends(answers: pa.Table) -> Times:
    found: Times = np.unique(whole(answers.column("window_end")).cast(pa.int64()).to_numpy())
    return found
