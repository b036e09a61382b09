"""The answers of the windows that have closed, from the live state of one stream.

The live state is a cache: it is what folding the log gives, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from weft.engine.due import Due, Pending
from weft.engine.families import Family, Portion, families
from weft.engine.feedtables import described_feeds, load_feeds, table_name
from weft.engine.finals import Reading, aggregate_columns
from weft.engine.held import Held, Whole, best_source, held
from weft.engine.ingest import FeedKey, Fold, described_key, feed_key, folds, spec
from weft.engine.late import late_rows
from weft.engine.roll import Entry, Roll
from weft.engine.united import United
from weft.engine.windows import Reach, Windows, due, needed_from, widest_gap
from weft.kernels.columns import ColumnSpec
from weft.kernels.state import Answered, FeedState
from weft.log.bundle import Bundle
from weft.log.ingest import IngestRecord
from weft.log.snapshots import Snapshot
from weft.share.nodes import Feed, StreamPlan, Tap
from weft.times import BEGINNING, Duration, Instant


class StreamState:
    """The live cells of one stream and how far its windows are answered."""

    def __init__(self, plan: StreamPlan, floors: Mapping[str, Instant]) -> None:
        self.reach = Reach()
        self.feeds: dict[FeedKey, FeedState] = {}
        self._roll = Roll()
        self.adopt(plan, floors)

    def adopt(self, plan: StreamPlan, floors: Mapping[str, Instant]) -> None:
        """Go on under another plan: feeds that stay keep their cells, a new one starts empty.

        `floors` bounds the queries that were added to a running stream: their windows start later.
        """
        before, whole = self.feeds, self.held().partials if self.feeds else {}
        self.plan, self.floors = plan, dict(floors)
        new = self._look_at_plan()
        self.take(before, whole, new)

    def _look_at_plan(self) -> list[Entry]:
        """What follows from the plan, and is needed in every step; gives the queries that are new."""
        self._entries, new = self._roll.call(self.plan)
        self._families = families(self._entries, self.floors)
        self._held_for = {(entry.tap.window, key) for entry in self._entries for key, _ in entry.needs}
        self._strands = {feed.strand: feed.edges for feed in self.plan.feeds if feed.edges is not None}
        self.wanted: dict[FeedKey, set[str]] = {feed_key(feed): set() for feed in self.plan.feeds}
        for entry in self._entries:
            for key, text in entry.needs:
                self.wanted[key].add(text)
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the plan: the shapes of the answers are compiled."""
        follows = ("_roll", "_entries", "_families", "_held_for", "_strands", "wanted")
        return {name: value for name, value in self.__dict__.items() if name not in follows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_roll": Roll()}
        self._look_at_plan()

    def held(self) -> Held:
        """What the cells are good for."""
        return self._held(self._entries)

    def _held(self, entries: Iterable[Entry]) -> Held:
        return held(((entry.tap, entry.needs, entry.masks) for entry in entries), self.floors, self.reach)

    def take(
        self,
        feeds: Mapping[FeedKey, FeedState],
        whole: Whole,
        new: Sequence[Entry] | None = None,
    ) -> None:
        """Go on with the cells of these feeds, in which partials are `whole` after some time.

        A query may have started from the cells of a finer feed: what is missing of its own comes from there.
        Only those that are `new` may miss something; None: all are.
        """
        self.feeds = {key: feeds.get(key) or FeedState(len(key[1])) for key in self.wanted}
        moved = [
            (key, specs, Fold(*feeds[source].taken([source[1].index(part) for part in key[1]], specs)))
            for key, source, specs in self._moves(whole, self._entries if new is None else new)
        ]
        for key, specs, _ in moved:
            self.feeds[key].drop_columns([each for each in self.feeds[key].columns if each not in specs])
        for key, _, cells in moved:
            cells.into(self.feeds[key])
        for feed in self.plan.feeds:
            key = feed_key(feed)
            read = [spec(partial) for partial in feed.partials if partial.text in self.wanted[key]]
            self.feeds[key].drop_columns(read)

    def _moves(
        self, whole: Whole, entries: Sequence[Entry]
    ) -> list[tuple[FeedKey, FeedKey, list[ColumnSpec]]]:
        """Into which feed, from which finer one, which partials: those not whole for as long as is needed."""
        specs = {feed_key(f): {p.text: spec(p) for p in f.partials} for f in self.plan.feeds}
        moves: dict[tuple[FeedKey, FeedKey], list[ColumnSpec]] = {}
        for key, texts in self._held(entries).partials.items():
            for text, after in texts.items():
                there = whole.get(key, {}).get(text)
                source = best_source(whole, key, text)
                if source not in (None, key) and (there is None or there > after):
                    assert source is not None
                    moves.setdefault((key, source), []).append(specs[key][text])
        return [(key, source, columns) for (key, source), columns in moves.items()]

    @property
    def cells(self) -> int:
        return sum(feed.cells for feed in self.feeds.values())

    @property
    def nbytes(self) -> int:
        return sum(feed.nbytes for feed in self.feeds.values())

    def count_groups(self) -> dict[tuple[str, ...], int]:
        """The groups of the feeds that are read, by their keys; of several strands the most."""
        counted: dict[tuple[str, ...], int] = {}
        for key, feed in self.feeds.items():
            if self.wanted[key]:
                counted[key[1]] = max(len(feed.groups), counted.get(key[1], 0))
        return counted

    def fold(
        self,
        table: pa.Table,
        described: list[dict[str, Any]],
        share: Callable[[FeedKey, Fold], Fold] | None = None,
    ) -> dict[str, int]:
        """Take in the cells of one batch, or a `share` of them; gives its late rows, by query."""
        made = folds(table, described, self.wanted, self._since(), self.plan.edges, self._strands)
        late = late_rows(table, described, self.plan, self.floors, self.reach)
        for key, cells in made:
            (cells if share is None else share(key, cells)).into(self.feeds[key])
        return late

    def _since(self) -> dict[FeedKey, Instant]:
        """For each feed the oldest slice that a window still to be answered may hold."""
        since: dict[FeedKey, Instant] = {}
        for window, key in self._held_for:
            start = needed_from(window.range, window.slide, window.offset, self.reach.upto(window.range))
            since[key] = min(start, since.get(key, start))
        return since

    def take_in(self, record: IngestRecord, load: Callable[[], pa.Table | None]) -> dict[str, int]:
        """Take in a batch, whose cells `load` gives if it has some; gives its late rows, by query."""
        cells = load()
        return {} if cells is None else self.fold(cells, record.meta["feeds"])

    def settle(self) -> None:
        """What was taken in is folded already."""

    def begin(self, snapshot: Snapshot) -> None:
        """Take over the cells of a snapshot."""
        stream = self.plan.stream.name
        whole = {described_key(feed): feed["whole"] for feed in described_feeds(snapshot, stream)}
        self.take(load_feeds(snapshot, stream), whole)

    def load(self) -> None:
        """The cells are here already."""

    def save(self, stem: str) -> tuple[dict[str, pa.Table], list[Bundle]]:
        """The cells as tables of a snapshot: those still to be written, and those already in files."""
        stream = self.plan.stream.name
        return {table_name(stream, at): feed.table() for at, feed in enumerate(self.feeds.values())}, []

    def saved_as(self, step: int) -> None:
        """The snapshot is there; cells that are here do not need it."""

    def due(self, reach: Reach, first: Instant | None, answers: Callable[[Feed], bool] | None = None) -> Due:
        """The aggregates of every window that `reach` closes, per query, made when they are asked for.

        `first` is the least event time of the stream: EMIT EMPTY begins with the window that ends after it.
        `answers` tells the feeds of which something is said here; None: all.
        """
        return Due(self._pending(reach, first, answers))

    def _pending(
        self, reach: Reach, first: Instant | None, answers: Callable[[Feed], bool] | None
    ) -> Iterator[Pending | United]:
        windows: dict[tuple[Any, ...], Windows] = {}
        gaps = {key: widest_gap(state.slices()) for key, state in self.feeds.items()}
        for family in self._families:
            asked: list[tuple[Tap, Reading, Windows]] = []
            for tap, read in family.sets:
                key = (tap.feed, tap.window, family.floor, family.until, tap.fills)
                if key not in windows:
                    windows[key] = self._windows(family, tap, read, reach, first, gaps[read.feed])
                if len(windows[key]) and (answers is None or answers(self.plan.feeds[tap.feed])):
                    asked.append((tap, read, windows[key]))
            if asked:
                yield from self._aggregate(family, asked)

    def closes(self, reach: Reach, first: Instant | None) -> bool:
        """Does `reach` close any window?"""
        return any(
            len(self._windows(family, tap, read, reach, first))
            for family in self._families
            for tap, read in family.sets
        )

    def _windows(
        self,
        family: Family,
        tap: Tap,
        read: Reading,
        reach: Reach,
        first: Instant | None,
        gap: Duration | None = None,
    ) -> Windows:
        window, upto = tap.window, reach.upto(tap.window.range)
        if family.until is not None:
            upto = min(upto, family.until + window.range)
        return due(
            self.feeds[read.feed].slices(),
            window.range,
            window.slide,
            window.offset,
            after=self.reach.upto(window.range),
            upto=upto,
            floor=family.floor,
            every_from=first if tap.fills else None,
            gap=gap,
        )

    def _aggregate(
        self, family: Family, asked: Sequence[tuple[Tap, Reading, Windows]]
    ) -> Iterator[Pending | United]:
        """What is due of a family; that of all grouping sets together."""
        parts = (part for tap, read, windows in asked for part in self._parts(family, tap, read, windows))
        if family.shape.has_sets:
            yield United(family.shape, family.everyone, tuple(parts))
        else:
            yield from parts

    def _parts(self, family: Family, tap: Tap, read: Reading, windows: Windows) -> Iterator[Pending]:
        state = self.feeds[read.feed]
        for portions, answered in _answers(family, read, windows, state):
            made, failed = aggregate_columns(read, self.feeds, windows, answered)
            yield Pending(family.shape, portions, tap, windows, answered, state, made, failed)

    def expire(self) -> None:
        """Drop the cells that no window still to be answered holds."""
        for key, start in self._since().items():
            if start > BEGINNING:
                self.feeds[key].expire(start)


def _answers(
    family: Family, read: Reading, windows: Windows, state: FeedState
) -> Iterator[tuple[Sequence[Portion], Answered]]:
    """What a feed holds of the windows of a family, and whose rows these are; some members at a time."""
    said = list(family.members.values())
    asked = (windows.starts, windows.ends, read.present, read.wanted)
    if len(said) == 1:
        yield family.everyone, state.answer(*asked, read.choice)
        return
    for place, answered, bounds in state.answer_each(*asked, family.choices):
        ends = bounds.tolist()
        mine = zip(said[place : place + len(ends) - 1], ends, ends[1:], strict=False)
        yield [Portion(shapes, start, stop) for shapes, start, stop in mine if start < stop], answered
