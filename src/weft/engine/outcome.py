"""What a step adds to the totals of a program, and which queries it stops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.due import Answers
from weft.engine.tally import Tally
from weft.log.ingest import IngestRecord

STREAM_TOTALS = {  # counter of the program: its name in the record of a batch
    "rows": "rows",
    "no_time": "no_time",
    "ahead": "ahead",
    "corrupt": "corrupt",
    "late_rows": "late",
}

KeysOf = Callable[[IngestRecord], Mapping[str, str]]  # the query versions a batch was ingested for, by name


@dataclass(slots=True)
class Outcome:
    """One step, counted. `keys` are the query versions in force, by name."""

    keys: Mapping[str, str]
    tally: Tally = field(default_factory=Tally)

    def add_batch(self, stream: str, record: IngestRecord, keys: Mapping[str, str]) -> None:
        """Count a batch; `keys` are the query versions that it was ingested for."""
        meta = record.meta
        self.tally.add({total: {stream: meta[name]} for total, name in STREAM_TOTALS.items()})
        self.tally.add({"batches": {stream: 1}})
        self.tally.add({"dead": {keys[name]: count for name, count in meta["failed"].items()}})

    def add_standing(self, rows: Mapping[str, int]) -> None:
        """Count the rows of standing filters, by version."""
        self.tally.add({"answers": dict(rows)})

    def add_related(self, answers: Mapping[str, pa.Table], failed: Mapping[str, int]) -> None:
        """Count what is told of relations, and the rows on which one of their expressions failed."""
        told = {name: table.num_rows for name, table in answers.items()}
        windows = {name: _windows_in(table) for name, table in answers.items()}
        self.tally.add({"answers": self._by_key(told), "dead": self._by_key(failed)})
        self.tally.add({"windows": self._by_key(windows)})

    def add_answers(self, made: Answers, late: Mapping[str, int]) -> None:
        self.tally.add({"dead": self._by_key({name: rows.num_rows for name, rows in made.failed.items()})})
        self.tally.add({"answers": self._by_key(made.count())})
        self.tally.add({"windows": self._by_key(made.windows), "late": self._by_key(late)})

    def _by_key(self, counts: Mapping[str, int]) -> dict[str, int]:
        return {self.keys[name]: count for name, count in counts.items() if name in self.keys}


def _windows_in(answers: pa.Table) -> int:
    """How many windows they are of; without SLIDE they are of none."""
    if "window_end" not in answers.column_names:
        return 0
    return int(pc.count_distinct(answers.column("window_end")).as_py())


def stopped(
    strict: Collection[str],
    records: Iterable[IngestRecord],
    made: Answers,
    keys: Mapping[str, str],
    keys_of: KeysOf,
) -> dict[str, str]:
    """ON ERROR FAIL: which of the `strict` queries stop with a step, and why. They have no answers in it."""
    by_row = {
        name
        for record in records
        for name in set(strict) & set(record.meta["failed"])
        if keys_of(record)[name] == keys[name]
    }
    reasons = dict.fromkeys(sorted(set(strict) & set(made.failed)), "an expression failed on an answer")
    reasons |= dict.fromkeys(sorted(by_row), "an expression failed on a row")
    return {name: f"{reason} (ON ERROR FAIL)" for name, reason in reasons.items()}
