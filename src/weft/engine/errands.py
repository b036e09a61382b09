"""What the driver asks of the buckets of a stream in a step, and how a bucket does it.

    errand ─► its cells, cached or reloaded ─► fold its part of the batches ─► answer ─► files, and word

A bucket reads the ingest log and writes into the directory of the answer log; that what it wrote counts is
for the driver to record. What is cached is a cache: a bucket that finds nothing, or something of another
moment, builds its cells from the last snapshot and the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from weft.engine.buckets import Share, is_cells, name_of
from weft.engine.due import Item, broken, failed_rows, parts_of
from weft.engine.feedtables import load_feeds, table_name
from weft.engine.ingest import FeedKey, feed_key, is_combined
from weft.engine.shape import Rows
from weft.engine.step import StreamState
from weft.engine.windows import Reach, Times
from weft.kernels.state import FeedState
from weft.log.bundle import Bundle, BundleWriter, write_bundle
from weft.log.home import Home
from weft.log.ingest import IngestLog, IngestRecord
from weft.log.snapshots import Snapshots
from weft.share.nodes import StreamPlan
from weft.times import Instant

if TYPE_CHECKING:
    from weft.engine.relations.bucket import Related, Relating, Spreading

Feeds = dict[FeedKey, FeedState]

ANSWERS, UNSHAPED, FAILED = "answers:", "unshaped:", "failed:"  # begin the names of tables that buckets write


@dataclass(frozen=True, slots=True)
class Errand:
    """One step of one stream, the same for all of its buckets."""

    home: str  # a path, or a URL
    run: str  # names this run of the program: what is cached belongs to it alone
    stream: str
    buckets: int
    floors: Mapping[str, Instant]
    base: int | None  # the snapshot that a bucket without cached cells begins with
    start: int  # without a snapshot it begins with no cells, after this batch
    after: int  # the cells hold all batches up to this one
    upto: int  # and are to hold those up to this one
    before: Reach  # how far windows are answered
    reach: Reach  # and how far they are to be
    first: Instant | None
    answers: str  # how the names of files with answers begin
    snapshot: str | None = None  # how those with a snapshot begin, if one is asked for

    @property
    def begins(self) -> list[Any]:
        """What the cells are a function of: the batches they hold, and how far windows are answered."""
        return [self.after, self.before.watermark, self.before.drained]

    @property
    def ends(self) -> list[Any]:
        return [self.upto, self.reach.watermark, self.reach.drained]


@dataclass(frozen=True, slots=True)
class Told:
    """What a bucket has done. Its answers lie in files, under the names of their queries."""

    bucket: int
    answers: Bundle
    unshaped: Bundle  # aggregates of queries whose answer takes all buckets, or Spark
    failed: Bundle  # aggregates on which an expression failed
    late: Mapping[str, int]
    windows: Mapping[str, Times]  # by query the ends of the windows that hold a group
    snapshot: Bundle
    cells: int
    nbytes: int
    reloaded: bool


class Timed(Protocol):
    """An errand of some run, from one moment to another; what is held for it goes by the name of a stream."""

    @property
    def run(self) -> str: ...

    @property
    def stream(self) -> str: ...

    @property
    def begins(self) -> list[Any]: ...

    @property
    def ends(self) -> list[Any]: ...


class Cache(Protocol):
    """State of buckets as it was after some errand, for who comes next on the same machine."""

    def take(self, errand: Timed, bucket: int) -> Any:
        """The state as the errand begins, which is ours from now on; None if it is not there."""

    def put(self, errand: Timed, bucket: int, state: object) -> None:
        """Keep the state as the errand ends."""


class Crew(Protocol):
    """Those who do errands."""

    buckets: int

    def run(self, errand: Errand, plan: StreamPlan) -> Sequence[Told]:
        """One word from each bucket, in their order; `plan` is another object only if it is another plan."""

    def relate(self, errand: Relating, plan: Spreading) -> Sequence[Related]:
        """The same for relations."""


def run(errand: Errand, plan: StreamPlan, bucket: int, cache: Cache) -> Told:
    """Do the part of a bucket."""
    home, share = Home.look(errand.home), Share(bucket, errand.buckets)
    log = IngestLog(home, errand.stream, listed=False)
    state = StreamState(plan, errand.floors)
    state.reach = errand.before
    cached: Feeds | None = cache.take(errand, bucket)
    if cached is None:
        after = _reload(state, errand, share, home)
        _fold(state, log, share, after, errand.after)
    else:
        state.take(cached, {})
    late = _fold(state, log, share, errand.after, errand.upto)
    with BundleWriter(home.path / "answers", errand.answers, "answers.data") as out:
        shaped = _Shaped(out)
        for item in state.due(errand.reach, errand.first, share.answers).items:
            shaped.add(item)
        out.write()
    written = out.bundle()
    state.reach = errand.reach
    state.expire()
    told = Told(
        bucket=bucket,
        answers=written.under(ANSWERS),
        unshaped=written.under(UNSHAPED),
        failed=written.under(FAILED),
        late=late,
        windows=shaped.windows,
        snapshot=_save(state, errand, home, bucket),
        cells=state.cells,
        nbytes=state.nbytes,
        reloaded=cached is None,
    )
    cache.put(errand, bucket, state.feeds)
    return told


@dataclass(slots=True)
class _Shaped:
    """What a bucket can say by itself, and what takes the others."""

    out: BundleWriter
    windows: dict[str, Times] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        shape = item.shape
        for portion in item.portions:
            ends = item.ends(portion)
            for name in (each.query.name for each in portion.shapes):
                there = self.windows.get(name)
                self.windows[name] = ends if there is None else np.concatenate([there, ends])
        if shape.compiled is None:
            self._add(UNSHAPED, item, item.table())
            return
        if (plain := item.answer()) is not None:
            self._add(ANSWERS, item, plain, named=True)
            return
        table = item.needed()
        if not table.num_rows:
            return
        done = shape.evaluate(table)
        take = shape.choose if shape.limit is None else shape.first
        chosen = take(table, done, broken(table))
        for name, failed in failed_rows(item, chosen):
            self.out.add(FAILED + name, failed)
        if shape.limit is not None:  # the first of this bucket may be among the first of all
            self._add(UNSHAPED, item, item.table().take(pa.array(chosen.rows)))
        else:
            self._add(ANSWERS, item, shape.select(done, chosen), chosen.rows, named=True)

    def _add(
        self, what: str, item: Item, table: pa.Table, chosen: Rows | None = None, named: bool = False
    ) -> None:
        parts = parts_of(item, chosen, table.num_rows, named)
        self.out.add_parts(table, {what + name: part for name, part in parts.items()})


def _reload(state: StreamState, errand: Errand, share: Share, home: Home) -> int:
    """Bring the cells of a snapshot into a new state; gives the last batch that they hold."""
    if errand.base is None:
        return errand.start
    snapshot = Snapshots(home).open(errand.base)
    state.take(load_feeds(snapshot, errand.stream, share), {})
    return int(snapshot.meta["positions"].get(errand.stream, -1))


def _fold(state: StreamState, log: IngestLog, share: Share, after: int, upto: int) -> dict[str, int]:
    """Take in the batches past `after`; gives the rows that came too late, by query."""
    late: Counter[str] = Counter()
    for number in range(after + 1, upto + 1):
        late.update(_fold_one(state, log, log.read(number), share))
    return dict(late)


def _fold_one(state: StreamState, log: IngestLog, record: IngestRecord, share: Share) -> dict[str, int]:
    described = record.meta["feeds"]
    if record.meta["buckets"] == share.buckets and not is_combined(described, state.wanted):
        mine = name_of(share.bucket)
        return state.fold(log.load(record, mine), described) if mine in record.tables else {}
    cells = load_cells(log, record)
    late = {} if cells is None else state.fold(cells, described, share.of)
    return late if share.bucket == 0 else {}  # they are those of all buckets


def load_cells(log: IngestLog, record: IngestRecord) -> pa.Table | None:
    """The cells of a batch, those of all buckets together; None if it has none."""
    names = [name for name in record.tables if is_cells(name)]
    if not names:
        return None
    return pa.concat_tables([log.load(record, name) for name in names], promote_options="default")


def _save(state: StreamState, errand: Errand, home: Home, bucket: int) -> Bundle:
    if errand.snapshot is None:
        return Bundle()
    tables = {
        table_name(errand.stream, at, bucket): state.feeds[feed_key(feed)].table()
        for at, feed in enumerate(state.plan.feeds)
    }
    return write_bundle(home.path / "snapshots", errand.snapshot, tables, "snapshots.data")
