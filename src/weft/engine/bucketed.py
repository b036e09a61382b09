"""A stream whose cells live in buckets: what the driver knows of it, and how it has it answered.

In place of `StreamState` it takes in batches, says what is due, and is saved; the cells themselves it never
sees. A query is answered by each bucket for its own groups. What takes all groups of a window (the first of
all), or Spark, is met here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from weft.engine.due import Answers, Due, Met
from weft.engine.errands import Crew, Errand, Told
from weft.engine.held import Held, held
from weft.engine.roll import Roll
from weft.engine.windows import Reach, Times, due
from weft.lang.statements import WindowSpec
from weft.log.bundle import Bundle, joined
from weft.log.home import Home
from weft.log.ingest import IngestRecord
from weft.log.paths import AnyPath
from weft.log.snapshots import Snapshot
from weft.share.nodes import StreamPlan
from weft.times import BEGINNING, Instant


@dataclass(frozen=True, slots=True)
class Place:
    """What all streams of a runtime that live in buckets have in common."""

    home: Home
    crew: Crew
    stem: Callable[[], str]  # of the files with the answers of the step under way

    @property
    def run(self) -> str:
        return f"{self.home.id}-{self.home.generation}"


class Bucketed:
    """The driver's view of one stream in buckets."""

    def __init__(self, plan: StreamPlan, floors: Mapping[str, Instant], place: Place, start: int) -> None:
        """There are no cells yet; batches after `start` will make some."""
        self._place, self._start = place, start
        self.base: int | None = None  # the snapshot that buckets without cached cells begin with
        self.after = start  # the last batch that the cells hold
        self.upto = start  # the last that they are to hold after the next step
        self.latest = BEGINNING
        self.reach = Reach()
        self.cells = self.nbytes = self.reloads = 0
        self._roll = Roll()
        self.adopt(plan, floors)

    def adopt(self, plan: StreamPlan, floors: Mapping[str, Instant]) -> None:
        """Go on under another plan, from the next step on."""
        self.plan, self.floors = plan, dict(floors)
        self._entries, _ = self._roll.call(plan)
        self.shapes = {entry.tap.query.name: entry.shape for entry in self._entries}

    def held(self) -> Held:
        """What the cells are good for; those of a finer feed lie in other buckets than those of a coarser."""
        needed = ((entry.tap, entry.needs, entry.masks) for entry in self._entries)
        return replace(held(needed, self.floors, self.reach), apart=True)

    def count_groups(self) -> dict[tuple[str, ...], int]:
        """Only the buckets know."""
        return {}

    def take_in(self, record: IngestRecord, load: Callable[[], pa.Table | None]) -> dict[str, int]:
        """A batch is there to be folded; how many rows came too late, the buckets will tell."""
        self.upto = record.number
        if record.meta["max_time"] is not None:
            self.latest = max(self.latest, record.meta["max_time"])
        return {}

    def settle(self) -> None:
        """What was taken in has been answered."""
        self.after = self.upto

    def due(self, reach: Reach, first: Instant | None) -> Due:
        """Have all windows answered that `reach` closes."""
        told = self._run(reach, first)
        self.settle()
        windows = _windows(told)
        said = Answers(
            failed=self._tables(told, lambda each: each.failed),
            windows={name: len(ends) for name, ends in windows.items()},
            written=tuple(each.answers for each in told if each.answers.tables),
        )
        unshaped = self._tables(told, lambda each: each.unshaped)
        items = [Met(self.shapes[name], rows, windows[name]) for name, rows in unshaped.items()]
        late: Counter[str] = Counter()
        for each in told:
            late.update(each.late)
        return Due(items, late, said)

    def begin(self, snapshot: Snapshot) -> None:
        """Cells will be loaded from a snapshot by the buckets themselves."""
        stream = self.plan.stream.name
        self.base, self.after = snapshot.step, snapshot.meta["positions"].get(stream, -1)
        self.upto, self.latest = self.after, snapshot.meta["folded"].get(stream, BEGINNING)

    def load(self) -> None:
        """Have every bucket get its cells, so that what is damaged shows before anything is changed."""
        if self.after >= 0:
            self._run(self.reach, None)

    def save(self, stem: str) -> tuple[dict[str, pa.Table], list[Bundle]]:
        """Have the buckets write their cells as tables of a snapshot, into files whose names begin so."""
        return {}, [each.snapshot for each in self._run(self.reach, None, stem)]

    def saved_as(self, step: int) -> None:
        """From now on, cells that are lost are loaded from the snapshot after this step."""
        self.base = step

    def _run(self, reach: Reach, first: Instant | None, snapshot: str | None = None) -> list[Told]:
        """What the buckets say; they are not asked where no query has cells."""
        if not self.plan.feeds:
            self.cells = self.nbytes = 0
            return []
        place = self._place
        errand = Errand(
            home=str(place.home.path),
            run=place.run,
            stream=self.plan.stream.name,
            buckets=place.crew.buckets,
            floors=self.floors,
            base=self.base,
            start=self._start,
            after=self.after,
            upto=self.upto,
            before=self.reach,
            reach=reach,
            first=first,
            answers=place.stem(),
            snapshot=snapshot,
        )
        told = list(place.crew.run(errand, self.plan))
        self.cells, self.nbytes = sum(each.cells for each in told), sum(each.nbytes for each in told)
        self.reloads += sum(each.reloaded for each in told)
        return told

    def _tables(self, told: Iterable[Told], of: Callable[[Told], Bundle]) -> dict[str, pa.Table]:
        bundle = joined(of(each) for each in told)
        return {name: bundle.load(self._answers, name) for name in bundle.tables}

    @property
    def _answers(self) -> AnyPath:
        return self._place.home.path / "answers"

    def closes(self, reach: Reach, first: Instant | None) -> bool:
        """Might `reach` close a window that holds a row? Where the cells are is not known here."""
        return any(self._might_close(tap.window, reach) for tap in self.plan.taps)

    def _might_close(self, window: WindowSpec, reach: Reach) -> bool:
        after, upto = self.reach.upto(window.range), min(reach.upto(window.range), self.latest + window.range)
        found = due(np.array([]), window.range, window.slide, window.offset, after, upto, every_from=after)
        return len(found) > 0

    def expire(self) -> None:
        """Buckets do so by themselves."""


def _windows(told: Iterable[Told]) -> dict[str, Times]:
    """By query the ends of the windows that hold a group in any bucket."""
    ends: dict[str, list[Times]] = {}
    for each in told:
        for name, found in each.windows.items():
            ends.setdefault(name, []).append(found)
    return {name: np.unique(np.concatenate(found)) for name, found in ends.items()}
