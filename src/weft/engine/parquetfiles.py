"""Parquet files of a batch, read by columns: in pieces that several can read at once.

A file that is not exactly as the stream declares it (other types, a column that is missing, times of another
calendar) is not for us: Spark knows what to do with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.engine.rowscan import RowScan, Unsuited
from weft.kernels.arrow import arrow_type
from weft.times import Instant

AT_ONCE = 1_000_000  # rows that are read together: bounds the memory of a task
LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_CALENDARS_AGREE = -2_208_988_800_000_000  # 1900: local times before it are not always what they seem


@dataclass(frozen=True, slots=True)
class Piece:
    """A row group of a file."""

    path: str
    group: int
    rows: int


def pieces(paths: Sequence[str], columns: Mapping[str, str]) -> list[Piece]:
    """The files by row groups; raises `Unsuited` if one is not as declared."""
    return [piece for path in paths for piece in _pieces(path, columns)]


def _pieces(path: str, columns: Mapping[str, str]) -> Iterator[Piece]:
    try:
        with pq.ParquetFile(path) as file:
            _check(file, columns)
            about = file.metadata
            for at in range(about.num_row_groups):
                yield Piece(path, at, about.row_group(at).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise Unsuited(str(error)) from error


def _check(file: pq.ParquetFile, columns: Mapping[str, str]) -> None:
    schema, about = file.schema_arrow, file.metadata.metadata or {}
    if any(key in about for key in LEGACY):
        raise Unsuited("it was written with the calendar of an older Spark")
    for name, type_ in columns.items():
        found = schema.get_all_field_indices(name)
        if len(found) != 1 or schema.field(found[0]).type != arrow_type(type_):
            raise Unsuited(f"column {name} is not {type_}")


def spread(parts: Sequence[Piece], tasks: int) -> list[list[Piece]]:
    """The pieces for so many tasks, about as many rows for each; none is without."""
    shares: list[list[Piece]] = [[] for _ in range(max(1, min(tasks, len(parts))))]
    for part in sorted(parts, key=lambda part: -part.rows):
        min(shares, key=lambda share: sum(each.rows for each in share)).append(part)
    return shares


def read(parts: Sequence[Piece], scan: RowScan, now: Instant | None) -> Iterator[pa.RecordBatch]:
    """The evaluated rows of the pieces."""
    for part in parts:
        try:
            with pq.ParquetFile(part.path) as file:
                read = file.iter_batches(AT_ONCE, [part.group], list(scan.columns), use_threads=False)
                for batch in read:
                    source = pa.Table.from_batches([batch])
                    _check_times(source, scan.columns)
                    yield from scan.rows(source, now).to_batches()
        except (OSError, pa.ArrowException) as error:
            raise Unsuited(str(error)) from error


def _check_times(source: pa.Table, columns: Mapping[str, str]) -> None:
    for name, type_ in columns.items():
        if type_ in ("timestamp", "date"):
            earliest = pc.min(source.column(name)).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).as_py()
            if earliest is not None and earliest < _CALENDARS_AGREE:
                raise Unsuited(f"column {name} has times before 1900")
