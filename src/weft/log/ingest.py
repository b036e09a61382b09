"""The ingest log of one stream: what each micro-batch has left behind.

Its numbers are Spark's batch ids. A batch that Spark replays after a crash finds its record here, and that
record is in force: partial aggregates are not reproducible bit by bit, so nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.errors import RunError
from weft.log.bundle import Bundle
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.log.series import Record, Series

_ORIGIN = ("spark", "offsets")  # parts of `meta` that a replay must repeat


@dataclass(frozen=True, slots=True)
class IngestRecord(Record):
    """What is known of one batch, and where its tables lie."""

    stream: str = ""

    @property
    def batch(self) -> int:
        return self.number


class IngestLog:
    """One per stream. `meta` is JSON: epoch, greatest time, counts, Spark's query id `spark`."""

    def __init__(self, home: Home, stream: str, *, listed: bool = True) -> None:
        """Not `listed`, it is only good for `read` and `load`, and asks for nothing else."""
        self.stream = stream
        self._series = Series(home, "ingest", stream, area="ingest", listed=listed)

    @property
    def first(self) -> int:
        """The oldest batch still there; `next` if there is none."""
        return self._series.first

    @property
    def next(self) -> int:
        """The batch that comes next."""
        return self._series.next

    @property
    def last(self) -> IngestRecord | None:
        return self._typed(self._series.last) if self._series.last is not None else None

    @property
    def directory(self) -> AnyPath:
        return self._series.directory

    def stem(self, batch: int) -> str:
        """How the names of the files of a batch begin."""
        return self._series.stem(batch)

    def path_of(self, batch: int) -> AnyPath:
        """The file of a record, there or not."""
        return self._series.path_of(batch)

    def reaches(self, after: int) -> bool:
        """Whether every batch past `after` is still there."""
        return self._series.reaches(after)

    def find(self, batch: int, meta: Mapping[str, Any] | None = None) -> IngestRecord | None:
        """The record of a batch, if it is there; refused if `meta` shows that it is of another origin."""
        record = self._series.find(batch)
        if record is None:
            return None
        self._check_origin(record, meta or {})
        return self._typed(record)

    def read(self, batch: int) -> IngestRecord:
        """The record of a batch that is known to be there."""
        return self._typed(self._series.read(batch))

    def commit(
        self, batch: int, tables: Mapping[str, Any], meta: Mapping[str, Any], written: Sequence[Bundle] = ()
    ) -> IngestRecord:
        """Make the batch durable; returns the record in force, which is another one if that came first."""
        record = self._series.commit(batch, tables, meta, written)
        self._check_origin(record, meta)
        return self._typed(record)

    def records(self, after: int = -1) -> list[IngestRecord]:
        """The records past a batch, oldest first."""
        return [self._typed(record) for record in self._series.records(after)]

    def load(self, record: IngestRecord, name: str) -> Any:
        """One table of a batch; a missing, short or altered file is an error that names it."""
        return self._series.load(record, name)

    def expire(self, upto: int) -> int:
        """Delete the batches up to one, but never the newest; returns how many."""
        return self._series.expire(upto)

    def refresh(self) -> None:
        """See what another process has written since."""
        self._series.refresh()

    def _typed(self, record: Record) -> IngestRecord:
        return IngestRecord(record.number, record.meta, record.data, record.generation, self.stream)

    def _check_origin(self, record: Record, meta: Mapping[str, Any]) -> None:
        for part in _ORIGIN:
            if part in record.meta and part in meta and record.meta[part] != meta[part]:
                raise RunError(
                    "checkpoint-of-another-log",
                    f"batch {record.number} of stream `{self.stream}` is not the one the log has",
                    because=f"{part}: the log has {record.meta[part]}, the batch {meta[part]}",
                    help="restore the whole home, checkpoint and log together, or start in another home",
                )
