"""What is due in a step, and how it becomes answers.

Pending    aggregates of due windows as the kernels hold them
Met        the same from several buckets, brought together as a table
Answers    what the queries say, ready to be written; `written` are answers that lie in files already
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.families import Portion
from weft.engine.shape import Chosen, Done, Job, Mask, Rows, Shape
from weft.engine.windows import Times, Windows
from weft.kernels.arrow import TIME, array_of
from weft.kernels.state import Answered, FeedState
from weft.log.bundle import Bundle, BundleWriter, Part
from weft.share.nodes import Tap


@dataclass(slots=True)
class Answers:
    """What one step says, by query name."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    failed: dict[str, pa.Table] = field(default_factory=dict)  # aggregates on which an expression failed
    windows: dict[str, int] = field(default_factory=dict)
    written: tuple[Bundle, ...] = ()  # answers that lie in files of the answer log already
    kept: dict[str, pa.Table] = field(default_factory=dict)  # those of them that are in memory as well

    def without(self, stopped: Collection[str]) -> Answers:
        """Without what these queries answered; what went wrong with them stays."""
        if not stopped:
            return self
        tables = {name: table for name, table in self.tables.items() if name not in stopped}
        windows = {name: count for name, count in self.windows.items() if name not in stopped}
        written = tuple(bundle.without(stopped) for bundle in self.written)
        kept = {name: table for name, table in self.kept.items() if name not in stopped}
        return Answers(tables, self.failed, windows, written, kept)

    def take(self, out: BundleWriter) -> None:
        """What a writer was given: in memory if that is where all of it still is, else in its file."""
        if out.bundle().tables or out.has_parts:
            out.write()
        self.tables |= out.held
        self.kept |= out.kept
        self.written += (out.bundle(),)

    def add(self, more: Answers) -> None:
        """What others say: of other queries, or of the same in files."""
        self.tables |= more.tables
        self.windows |= more.windows
        self.written += more.written
        for name, failed in more.failed.items():
            both = [self.failed[name], failed] if name in self.failed else [failed]
            self.failed[name] = pa.concat_tables(both, promote_options="default")

    def count(self) -> dict[str, int]:
        """How many rows each query answers with."""
        counts = {name: table.num_rows for name, table in self.tables.items()}
        for bundle in self.written:
            for name in bundle.tables:
                counts[name] = counts.get(name, 0) + bundle.rows(name)
        return counts


class Item(Protocol):
    """The aggregates of due windows, not yet shaped into the answers of those who share them."""

    @property
    def shape(self) -> Shape: ...

    @property
    def portions(self) -> Sequence[Portion]: ...

    def needed(self) -> pa.Table:
        """What its answer is made of."""

    def table(self) -> pa.Table:
        """The windows, groups and aggregates as columns."""

    def answer(self) -> pa.Table | None:
        """What the queries say, where there is nothing left to shape."""

    def count_windows(self) -> Sequence[int]:
        """How many windows hold a group, by portion."""

    def ends(self, portion: Portion) -> Times:
        """The ends of the windows that hold a group of a portion."""


@dataclass(slots=True)
class Due:
    """What a step is to say of one stream; where its cells lie in buckets, much of it is said already."""

    items: Iterable[Item] = ()
    late: Mapping[str, int] = field(default_factory=dict)
    said: Answers = field(default_factory=Answers)


@dataclass(frozen=True, slots=True)
class Pending:
    """The aggregates of a family's due windows, not yet shaped into its answers."""

    shape: Shape
    portions: Sequence[Portion]
    tap: Tap
    windows: Windows
    answered: Answered
    state: FeedState
    finals: Mapping[str, pa.Array]
    failed: npt.NDArray[np.bool_] | None  # where an aggregate itself failed

    def table(self, names: Container[str] | None = None) -> pa.Table:
        """The windows, groups and aggregates as columns, or those of them that are named."""
        columns = self.columns(names)
        if self.failed is not None:
            columns[FAILED] = pa.array(self.failed)
        table = pa.table(columns)
        return _with_empty(table, self.windows, self.tap) if self.tap.fills else table

    def answer(self) -> pa.Table | None:
        """What the query says, where that is just these columns; None: it is to be shaped."""
        if self.shape.plain is None or self.failed is not None or self.tap.query.emit_empty:
            return None
        return self.shape.table(self.columns(self.shape.needs))

    def columns(self, names: Container[str] | None) -> dict[str, pa.Array]:
        """The same without rows for empty windows, and without keys that its grouping set leaves out."""
        columns: dict[str, pa.Array] = {}
        answered, starts, ends = self.answered, self.windows.starts, self.windows.ends
        if names is None or "window_start" in names:
            made = _once(answered.made, "start", lambda: self.state.times(answered, starts))
            columns["window_start"] = made
        if names is None or "window_end" in names:
            columns["window_end"] = _once(answered.alike, "end", lambda: self.state.times(answered, ends))
        wanted = [(f"_k{at}", place) for at, place in enumerate(self.tap.keys) if place is not None]
        if any(names is None or name in names for name, _ in wanted):
            keys = _once(answered.alike, "keys", lambda: self.state.keys(answered.group))
            columns |= {name: keys[place] for name, place in wanted}
        return columns | {n: made for n, made in self.finals.items() if names is None or n in names}

    def needed(self) -> pa.Table:
        """What its answer is made of."""
        return self.table(None if self.tap.query.emit_empty else self.shape.needs)

    def count_windows(self) -> Sequence[int]:
        if len(self.portions) == 1:
            return [self.answered.count_windows()]
        fresh = np.diff(self.answered.window, prepend=-1) != 0
        fresh[[portion.start for portion in self.portions]] = True
        before = np.concatenate([[0], np.cumsum(fresh)])
        return [int(before[portion.stop] - before[portion.start]) for portion in self.portions]

    def ends(self, portion: Portion) -> Times:
        """The ends of the windows of a portion."""
        return self.windows.ends[np.unique(self.answered.window[portion.start : portion.stop])]


@dataclass(frozen=True, slots=True)
class Met:
    """Aggregates that buckets made, each of its own groups, brought together."""

    shape: Shape
    rows: pa.Table
    windows: Times  # the ends of those that hold a group

    @property
    def portions(self) -> Sequence[Portion]:
        return (Portion((self.shape,)),)

    def needed(self) -> pa.Table:
        return self.rows

    def table(self) -> pa.Table:
        return self.rows

    def answer(self) -> pa.Table | None:
        return None

    def count_windows(self) -> Sequence[int]:
        return [len(self.windows)]

    def ends(self, portion: Portion) -> Times:
        return self.windows


def finish(pending: Iterable[Item], spark: Any, out: BundleWriter) -> Answers:
    """Shape pending aggregates into answers, one after the other, so that few are in memory at a time.

    `spark` evaluates what the kernels cannot, in one job. The answers go to `out`; where they are few it
    still holds them all, and that is where they are.
    """
    answers = Answers()
    for_spark = []
    for item in pending:
        answer = item.answer()
        if answer is not None:
            _add_plain(answers, item, answer, out)
            continue
        table = item.needed()
        if not table.num_rows:
            continue
        if item.shape.compiled is None:
            for_spark.append((item, table))
        else:
            _add(answers, item, table, item.shape.evaluate(table), out)
    if for_spark:
        jobs = [Job(table, item.shape.named) for item, table in for_spark]
        for (item, table), done in zip(for_spark, spark(jobs), strict=True):
            _add(answers, item, table, done, out)
    return answers


def _add_plain(answers: Answers, item: Item, answer: pa.Table, out: BundleWriter) -> None:
    if answer.num_rows:
        _count_windows(answers, item)
        out.add_parts(answer, parts_of(item, None, answer.num_rows))


def _add(answers: Answers, item: Item, table: pa.Table, done: Done, out: BundleWriter) -> None:
    _count_windows(answers, item)
    chosen = item.shape.choose(table, done, broken(table))
    answer = item.shape.select(done, chosen)
    out.add_parts(answer, parts_of(item, chosen.rows, answer.num_rows))
    answers.add(Answers(failed=dict(failed_rows(item, chosen))))


def _count_windows(answers: Answers, item: Item) -> None:
    for portion, count in zip(item.portions, item.count_windows(), strict=True):
        for name in (shape.query.name for shape in portion.shapes):
            answers.windows[name] = answers.windows.get(name, 0) + count


def parts_of(item: Item, chosen: Rows | None, count: int, named: bool = True) -> dict[str, Part]:
    """By query, which of `count` rows are its own; they are those `chosen` of the rows there were, None: all.

    `named`: as it calls its columns.
    """
    parts: dict[str, Part] = {}
    for portion in item.portions:
        start, stop = portion.start, count if portion.stop is None else portion.stop
        if portion.stop is not None and chosen is not None:
            start, stop = (int(at) for at in chosen.searchsorted([start, stop]))
        if start < stop:
            for shape in portion.shapes:
                is_other = named and shape.names != item.shape.names
                parts[shape.query.name] = Part(start, stop - start, shape.names if is_other else ())
    return parts


def failed_rows(item: Item, chosen: Chosen) -> Iterator[tuple[str, pa.Table]]:
    """The aggregates on which an expression failed, by query."""
    if chosen.failed is None:
        return
    table = item.table()
    for portion in item.portions:
        at = np.flatnonzero(chosen.failed[portion.start : portion.stop]) + portion.start
        if len(at):
            failed = table.take(pa.array(at))
            failed = failed.drop_columns([FAILED]) if FAILED in failed.column_names else failed
            for shape in portion.shapes:
                yield shape.query.name, failed


FAILED = "_failed"  # marks the rows of which an aggregate itself failed


def broken(table: pa.Table) -> Mask | None:
    """The rows of which an aggregate itself failed."""
    return table.column(FAILED).to_numpy() if FAILED in table.column_names else None


def _once(made: dict[str, Any], name: str, make: Callable[[], Any]) -> Any:
    """What another query may have made already."""
    if name not in made:
        made[name] = make()
    return made[name]


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
