"""The answers of the windows that have closed, from the live state of one stream.

The live state is a cache: it is what folding the log gives, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.finals import aggregate_columns
from weft.engine.held import Held, Whole, best_source, held
from weft.engine.ingest import FeedKey, Fold, feed_key, folds, spec
from weft.engine.late import late_rows
from weft.engine.shape import Done, Job, Shape, shape
from weft.engine.windows import Reach, Times, Windows, due, needed_from
from weft.kernels.arrow import array_of
from weft.kernels.columns import ColumnSpec
from weft.kernels.state import Answered, FeedState
from weft.share.nodes import StreamPlan, Tap
from weft.times import BEGINNING, Instant

TIME = pa.timestamp("us", tz="UTC")


@dataclass(slots=True)
class Answers:
    """What one step says, by query name."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    failed: dict[str, pa.Table] = field(default_factory=dict)  # aggregates on which an expression failed
    windows: dict[str, int] = field(default_factory=dict)

    def without(self, stopped: Collection[str]) -> Answers:
        """Without what these queries answered; what went wrong with them stays."""
        if not stopped:
            return self
        tables = {name: table for name, table in self.tables.items() if name not in stopped}
        windows = {name: count for name, count in self.windows.items() if name not in stopped}
        return Answers(tables, self.failed, windows)


@dataclass(frozen=True, slots=True)
class Pending:
    """The aggregates of one query's due windows, not yet shaped into its answer."""

    shape: Shape
    tap: Tap
    windows: Windows
    answered: Answered
    state: FeedState
    finals: Mapping[str, pa.Array]
    failed: npt.NDArray[np.bool_] | None  # where an aggregate itself failed

    def table(self, names: Container[str] | None = None) -> pa.Table:
        """The windows, groups and aggregates as columns, or those of them that are named."""
        columns: dict[str, pa.Array] = {}
        for name, times in (("window_start", self.windows.starts), ("window_end", self.windows.ends)):
            if names is None or name in names:
                columns[name] = self._once(name, partial(self._bounds, times))
        wanted = [(f"_k{at}", place) for at, place in enumerate(self.tap.keys)]
        if any(names is None or name in names for name, _ in wanted):
            keys = self._once("keys", lambda: self.state.keys(self.answered.group))
            columns |= {name: keys[place] for name, place in wanted}
        columns |= {name: made for name, made in self.finals.items() if names is None or name in names}
        if self.failed is not None:
            columns[FAILED] = pa.array(self.failed)
        table = pa.table(columns)
        return _with_empty(table, self.windows, self.tap) if self.tap.query.emit_empty else table

    def _bounds(self, times: Times) -> pa.Array:
        return _times(times.take(self.answered.window))

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """What other queries on the same windows and groups may have made already."""
        if name not in self.answered.made:
            self.answered.made[name] = make()
        return self.answered.made[name]

    def needed(self) -> pa.Table:
        """What its answer is made of."""
        return self.table(None if self.tap.query.emit_empty else self.shape.needs)

    def count_windows(self) -> int:
        """How many windows hold a group."""
        window = self.answered.window
        return int(np.count_nonzero(window[1:] != window[:-1])) + 1 if len(window) else 0


class StreamState:
    """The live cells of one stream and how far its windows are answered."""

    def __init__(self, plan: StreamPlan, floors: Mapping[str, Instant]) -> None:
        self.reach = Reach()
        self.feeds: dict[FeedKey, FeedState] = {}
        self.adopt(plan, floors)

    def adopt(self, plan: StreamPlan, floors: Mapping[str, Instant]) -> None:
        """Go on under another plan: feeds that stay keep their cells, a new one starts empty.

        `floors` bounds the queries that were added to a running stream: their windows start later.
        """
        before, whole = self.feeds, self.held().partials if self.feeds else {}
        self.plan, self.floors = plan, dict(floors)
        self.wanted = {feed_key(feed): {p.text for p in feed.partials} for feed in plan.feeds}
        self.shapes = {tap.query.name: shape(tap.query) for tap in plan.taps}
        self.take(before, whole)

    def __getstate__(self) -> dict[str, Any]:
        """Without the shapes of the answers, which are compiled: they follow from the plan."""
        return {name: value for name, value in self.__dict__.items() if name != "shapes"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.shapes = {tap.query.name: shape(tap.query) for tap in self.plan.taps}

    def held(self) -> Held:
        """What the cells are good for."""
        return held(self.plan, self.floors, self.reach)

    def take(self, feeds: Mapping[FeedKey, FeedState], whole: Whole) -> None:
        """Go on with the cells of these feeds, in which partials are `whole` after some time.

        A query may have started from the cells of a finer feed: what is missing of its own comes from there.
        """
        self.feeds = {key: feeds.get(key) or FeedState(len(key[1])) for key in self.wanted}
        moved = [
            (key, specs, Fold(*feeds[source].taken([source[1].index(part) for part in key[1]], specs)))
            for key, source, specs in self._moves(whole)
        ]
        for key, specs, _ in moved:
            self.feeds[key].drop_columns([each for each in self.feeds[key].columns if each not in specs])
        for key, _, cells in moved:
            cells.into(self.feeds[key])
        for feed in self.plan.feeds:
            self.feeds[feed_key(feed)].drop_columns([spec(partial) for partial in feed.partials])

    def _moves(self, whole: Whole) -> list[tuple[FeedKey, FeedKey, list[ColumnSpec]]]:
        """Into which feed, from which finer one, which partials: those not whole for as long as is needed."""
        specs = {feed_key(f): {p.text: spec(p) for p in f.partials} for f in self.plan.feeds}
        moves: dict[tuple[FeedKey, FeedKey], list[ColumnSpec]] = {}
        for key, texts in self.held().partials.items():
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

    def fold(self, table: pa.Table, described: list[dict[str, Any]]) -> dict[str, int]:
        """Take in the cells of one batch; gives the rows that came too late, by query."""
        made = folds(table, described, self.wanted, self._since())
        late = late_rows(table, described, self.plan, self.floors, self.reach)
        for key, cells in made:
            cells.into(self.feeds[key])
        return late

    def _since(self) -> dict[FeedKey, Instant]:
        """For each feed the oldest slice that a window still to be answered may hold."""
        since: dict[FeedKey, Instant] = {}
        for tap in self.plan.taps:
            window = tap.window
            start = needed_from(window.range, window.slide, window.offset, self.reach.upto(window.range))
            for at in {tap.feed, *(final.feed for final in tap.finals)}:
                key = feed_key(self.plan.feeds[at])
                since[key] = min(start, since.get(key, start))
        return since

    def due(self, reach: Reach, first: Instant | None) -> list[Pending]:
        """The aggregates of every window that `reach` closes, per query.

        `first` is the least event time of the stream: EMIT EMPTY begins with the window that ends after it.
        """
        windows: dict[tuple[int, Any, Instant, bool], Windows] = {}
        pending = []
        for tap in self.plan.taps:
            floor = self.floors.get(tap.query.name, BEGINNING)
            key = (tap.feed, tap.window, floor, tap.query.emit_empty)
            if key not in windows:
                windows[key] = self._windows(tap, floor, reach, first)
            if len(windows[key]):
                pending.append(self._aggregate(tap, windows[key]))
        return pending

    def closes(self, reach: Reach, first: Instant | None) -> bool:
        """Does `reach` close any window?"""
        floors = {tap.query.name: self.floors.get(tap.query.name, BEGINNING) for tap in self.plan.taps}
        return any(len(self._windows(t, floors[t.query.name], reach, first)) for t in self.plan.taps)

    def _windows(self, tap: Tap, floor: Instant, reach: Reach, first: Instant | None) -> Windows:
        window = tap.window
        return due(
            self.feeds[feed_key(self.plan.feeds[tap.feed])].slices(),
            window.range,
            window.slide,
            window.offset,
            after=self.reach.upto(window.range),
            upto=reach.upto(window.range),
            floor=floor,
            every_from=first if tap.query.emit_empty else None,
        )

    def _aggregate(self, tap: Tap, windows: Windows) -> Pending:
        feed = self.plan.feeds[tap.feed]
        state = self.feeds[feed_key(feed)]
        used = {at for final in tap.finals if final.feed == tap.feed for at in final.partials}
        wanted = [spec(feed.partials[at]) for at in sorted(used)]
        answered = state.answer(windows.starts, windows.ends, spec(feed.partials[tap.present]), wanted)
        made, failed = aggregate_columns(self.plan, tap, self.feeds, windows, answered)
        return Pending(self.shapes[tap.query.name], tap, windows, answered, state, made, failed)

    def expire(self) -> None:
        """Drop the cells that no window still to be answered holds."""
        for key, start in self._since().items():
            if start > BEGINNING:
                self.feeds[key].expire(start)


def finish(pending: list[Pending], spark: Any) -> Answers:
    """Shape all pending aggregates into answers; `spark` evaluates what the kernels cannot, in one job."""
    answers = Answers()
    tables = {id(item): item.needed() for item in pending if item.shape.compiled is None}
    by_spark = [item for item in pending if id(item) in tables and tables[id(item)].num_rows]
    done: dict[int, Done] = {}
    if by_spark:
        jobs = [Job(tables[id(item)], item.shape.named) for item in by_spark]
        done = {id(item): made for item, made in zip(by_spark, spark(jobs), strict=True)}
    for item in pending:
        table = tables[id(item)] if id(item) in tables else item.needed()
        if table.num_rows:
            made = done[id(item)] if id(item) in done else item.shape.evaluate(table)
            _add(answers, item, table, _with_failed(table, made))
    return answers


def _add(answers: Answers, item: Pending, table: pa.Table, done: Done) -> None:
    name = item.shape.query.name
    answers.windows[name] = item.count_windows()
    answer = item.shape.select(table, done)
    if answer.num_rows:
        answers.tables[name] = answer
    if done.failed is not None and done.failed.any():
        failed = item.table().filter(pa.array(done.failed))
        answers.failed[name] = failed.drop_columns([FAILED]) if FAILED in failed.column_names else failed


FAILED = "_failed"  # marks the rows of which an aggregate itself failed


def _with_failed(table: pa.Table, done: Done) -> Done:
    if FAILED not in table.column_names:
        return done
    marked = table.column(FAILED).to_numpy()
    return Done(done.columns, marked if done.failed is None else marked | done.failed)


def _times(at: Times) -> pa.Array:
    return array_of(at, type=TIME)


def _with_empty(table: pa.Table, windows: Windows, tap: Tap) -> pa.Table:
    """`table` with a row for each window that holds none: counts are zero, all else is null."""
    present = table.column("window_end").cast(pa.int64()).to_numpy()
    missing = ~np.isin(windows.ends, present)
    empty: dict[str, pa.Array] = {
        "window_start": _times(windows.starts[missing]),
        "window_end": _times(windows.ends[missing]),
    }
    for final in tap.finals:
        type_ = table.schema.field(final.name).type
        zero = 0 if "count" in final.function else None
        empty[final.name] = pa.array([zero] * int(missing.sum()), type_)
    if FAILED in table.column_names:
        empty[FAILED] = pa.array(np.zeros(int(missing.sum()), bool))
    return pa.concat_tables([table, pa.table(empty)]).sort_by("window_end")
