"""What is in a batch: from memory until it has been folded, so as not to be read back from its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from weft.engine import letters
from weft.engine.buckets import CELLS
from weft.engine.errands import load_cells
from weft.engine.intake import INTAKE, STANDING, rows_together
from weft.log.ingest import IngestLog, IngestRecord


class Fresh:
    """The tables of batches, from memory if they are new, else from the logs."""

    def __init__(self, logs: Mapping[str, IngestLog]) -> None:
        self._logs = logs
        self._kept: dict[tuple[str, int], Mapping[str, pa.Table]] = {}

    def keep(self, stream: str, batch: int, tables: Mapping[str, pa.Table]) -> None:
        """Remember what a batch was committed with."""
        self._kept[(stream, batch)] = tables

    def forget(self, stream: str, batch: int) -> None:
        self._kept.pop((stream, batch), None)

    def cells(self, stream: str, record: IngestRecord) -> pa.Table | None:
        """The cells of a batch, those of all buckets together; None if it has none."""
        if CELLS in record.tables:
            return self.load(stream, record, CELLS)
        return load_cells(self._logs[stream], record)

    def passing(
        self, stream: str, record: IngestRecord, keys: Mapping[str, str]
    ) -> Iterator[tuple[str, pa.Table]]:
        """Rows that go on as they are, each with its key: of standing filters, and dead letters.

        `keys` are those of the queries that the batch was ingested for.
        """
        for name in record.meta["standing"]:
            if name == INTAKE:
                continue
            yield keys[name], self.load(stream, record, f"{STANDING}{name}")
        if "dead" in record.tables:
            for name, rows in letters.by_query(self.load(stream, record, "dead"), stream).items():
                yield f"{letters.DEAD}{keys.get(name, name)}", rows

    def rows(self, stream: str, record: IngestRecord) -> pa.Table | None:
        """The rows of a batch that relations are made of; None if it has none."""
        return rows_together(record, lambda name: self.load(stream, record, name))

    def load(self, stream: str, record: IngestRecord, name: str) -> pa.Table:
        """One table of a batch."""
        kept = self._kept.get((stream, record.number), {})
        return kept[name] if name in kept else self._logs[stream].load(record, name)
