"""How far streams were complete when their batches came: what was late is as late when it is read again."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from weft.times import BEGINNING, Instant


class Standing(NamedTuple):
    """Rows before these times are late: for what is final, and for what is told early."""

    complete: Instant = BEGINNING
    ahead: Instant = BEGINNING


class Arrivals:
    """The batches that the log holds rows of, each with how far its stream was."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, int], Standing] = {}

    def note(self, stream: str, batch: int, standing: Standing) -> None:
        self._at[(stream, batch)] = standing

    def of(self, stream: str, batch: int) -> Standing:
        return self._at.get((stream, batch), Standing())

    def forget(self, stream: str, upto: int) -> None:
        """The batches of a stream up to and including this one are gone from the log."""
        self._at = {
            (name, at): found for (name, at), found in self._at.items() if name != stream or at > upto
        }

    def save(self) -> pa.Table:
        """All of them, as a table of a snapshot."""
        lines = [(stream, batch, *standing) for (stream, batch), standing in self._at.items()]
        columns = list(zip(*lines, strict=True)) or [()] * 4
        types = (pa.string(), pa.int64(), pa.int64(), pa.int64())
        arrays = [pa.array(values, type_) for values, type_ in zip(columns, types, strict=True)]
        return pa.table(arrays, names=["stream", "batch", "complete", "ahead"])

    def restore(self, saved: pa.Table) -> None:
        for stream, batch, complete, ahead in zip(*(column.to_pylist() for column in saved.columns)):
            self.note(stream, batch, Standing(complete, ahead))
