"""Input files: the same rows for the same parameters, on any machine.

    key INT      0 .. keys-1, uniform
    price DOUBLE 50.00 .. 150.00
    qty BIGINT   1 .. 1000
    ts TIMESTAMP over `span` seconds from 2026-01-01 00:00:00 UTC, at most `DISORDER` out of order

File n holds the n-th stretch of time, so that reading one file per batch is a stream.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_767_225_600_000_000  # 2026-01-01 00:00:00 UTC, microseconds
DISORDER = 1_000_000
SCHEMA = "key INT, price DOUBLE, qty BIGINT, ts TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Data:
    """`rows` rows over `span` seconds in `files` files of equal size."""

    rows: int = 10_000_000
    keys: int = 100
    files: int = 10
    span: int = 3600
    seed: int = 7

    @property
    def name(self) -> str:
        return f"{self.rows}-rows-{self.keys}-keys-{self.files}-files-{self.span}-s-seed-{self.seed}"

    @property
    def rows_per_file(self) -> int:
        return self.rows // self.files


def files_of(data: Data, root: Path) -> Path:
    """The directory that holds the files, written now unless they are already there."""
    directory = root / data.name
    finished = root / f"{data.name}.json"
    if not finished.exists():
        directory.mkdir(parents=True, exist_ok=True)
        for number in range(data.files):
            _write(data, number, directory / f"part-{number:05d}.parquet")
        finished.write_text(json.dumps(asdict(data)))
    return directory


def table(data: Data, number: int) -> pa.Table:
    """The rows of file `number`."""
    random = np.random.default_rng([data.seed, number])
    count = data.rows_per_file
    order = np.arange(number * count, (number + 1) * count, dtype=np.int64)
    times = START + order * (data.span * 1_000_000) // data.rows + random.integers(0, DISORDER, count)
    return pa.table(
        {
            "key": pa.array(random.integers(0, data.keys, count, dtype=np.int32)),
            "price": pa.array(random.integers(5_000, 15_001, count) / 100),
            "qty": pa.array(random.integers(1, 1_001, count)),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
    )


def _write(data: Data, number: int, path: Path) -> None:
    pq.write_table(table(data, number), path)
    # Spark takes files in the order of their modification times.
    os.utime(path, (1_767_225_600 + number, 1_767_225_600 + number))
