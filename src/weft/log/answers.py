"""The answer log: what each answer step was to do, and what came of it.

    answers/intents/000000000041.json     written first, so that after a crash the same step is done
    answers/000000000041.json             the record: where the answers of each query lie in its file

A step counts when its record is there. An intent without one is *pending*: the same is done
again, from the same input.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.log.bundle import Bundle, BundleWriter
from weft.log.common import nbytes
from weft.log.durable import damaged
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.log.series import Record, Series


@dataclass(frozen=True, slots=True)
class AnswerRecord(Record):
    """What came of one step; of an intent, what it is to do."""

    @property
    def step(self) -> int:
        return self.number


Intent = AnswerRecord
Tables = Mapping[str, Any]

RECENT_BYTES = 512 << 20  # of answers kept in memory until every sink has them


def _typed(record: Record) -> AnswerRecord:
    return AnswerRecord(record.number, record.meta, record.data, record.generation)


class AnswerLog:
    """One per home. `key` names a query version; a step has a table for each that it answered with a row."""

    def __init__(self, home: Home) -> None:
        self._steps = Series(home, "answers", area="answers")
        self._intents = Series(home, "answers", "intents", area="answers", kind="intent")
        self._recent: dict[int, Tables] = {}  # what was just committed: sinks need not read it back
        self._recent_bytes: dict[int, int] = {}
        self._lock = threading.Lock()
        if home.owned:
            self._check_pairs()

    def _check_pairs(self) -> None:
        lost = self._intents.next < self._steps.next
        if lost or self._intents.next > self._steps.next + 1:
            series = self._intents if lost else self._steps
            raise damaged(series.path_of(series.next), "it is missing")

    @property
    def first(self) -> int:
        """The oldest step still there; `next` if there is none."""
        return self._steps.first

    @property
    def next(self) -> int:
        """The step that comes next, or is pending."""
        return self._steps.next

    @property
    def last(self) -> AnswerRecord | None:
        return _typed(self._steps.last) if self._steps.last is not None else None

    def stem(self, step: int) -> str:
        """How the names of the files of a step begin."""
        return self._steps.stem(step)

    def writer(self, step: int) -> BundleWriter:
        """For answers of a step that are too many to be held until it is committed."""
        with self._lock:
            return self._steps.writer(step, keep=RECENT_BYTES - sum(self._recent_bytes.values()))

    def path_of(self, step: int) -> AnyPath:
        """The file of a record, there or not."""
        return self._steps.path_of(step)

    def intend(self, step: int, meta: Mapping[str, Any]) -> Intent:
        """Say durably what the step is to do; returns the intent in force, an older one if any."""
        return _typed(self._intents.commit(step, {}, meta))

    def pending(self) -> Intent | None:
        """The intent that has no record yet."""
        intent = self._intents.find(self._steps.next)
        return _typed(intent) if intent is not None else None

    def commit(
        self,
        step: int,
        tables: Mapping[str, Any],
        meta: Mapping[str, Any],
        written: Sequence[Bundle] = (),
        kept: Tables | None = None,
    ) -> AnswerRecord:
        """Make the answers of a step durable, leaving out empty tables; returns the record in force.

        `kept` are tables among those already `written` that are still in memory.
        """
        held = {key: table for key, table in tables.items() if table.num_rows}
        record = _typed(self._steps.commit(step, held, meta, written))
        self._keep(record, {**held, **(kept or {})})
        return record

    def _keep(self, record: AnswerRecord, tables: Tables) -> None:
        size = nbytes(tables.values())
        with self._lock:
            is_mine = tables.keys() <= record.tables.keys()
            if is_mine and sum(self._recent_bytes.values()) + size <= RECENT_BYTES:
                self._recent[record.step], self._recent_bytes[record.step] = tables, size

    def release(self, upto: int) -> None:
        """No sink will ask for the steps up to this one: they need not stay in memory."""
        with self._lock:
            for step in [step for step in self._recent if step <= upto]:
                del self._recent[step], self._recent_bytes[step]

    def records(self, after: int = -1) -> list[AnswerRecord]:
        """The records past a step, oldest first."""
        return [_typed(record) for record in self._steps.records(after)]

    def read(self, record: AnswerRecord, key: str) -> Any | None:
        """The answers of one query in a step; None if it had none."""
        if key not in record.tables:
            return None
        recent = self._recent.get(record.step, {})
        return recent[key] if key in recent else self._steps.load(record, key)

    def expire(self, upto: int) -> int:
        """Delete the steps up to one, but never the newest; returns how many."""
        count = self._steps.expire(upto)
        self._intents.expire(self._steps.first - 1)
        return count

    def refresh(self) -> None:
        """See what another process has written since."""
        self._intents.refresh()
        self._steps.refresh()
