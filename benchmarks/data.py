"""Input files: the same rows for the same parameters, on any machine.

    key INT      0 .. keys-1, uniform
    price DOUBLE 50.00 .. 150.00
    qty BIGINT   1 .. 1000
    ts TIMESTAMP over `span` seconds from 2026-01-01 00:00:00 UTC, at most `disorder` seconds out of order

File n holds the n-th stretch of time, so that reading one file per batch is a stream. In CSV the time is a
whole number of microseconds, `us`, which every engine reads fast; `nexmark` has columns of its own.

Of `late` rows in a thousand the time lies `LATE_FILES` files back, so far that every engine has closed their
windows and drops them, whatever it does at the edge; a column `late` marks them for one that sees no stream.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks import nexmark

START = 1_767_225_600_000_000  # 2026-01-01 00:00:00 UTC, microseconds
LATE_FILES = 3
COLUMNS = {
    "market": {"key": "INT", "price": "DOUBLE", "qty": "BIGINT"},
    "nexmark": {"kind": "INT", "key": "BIGINT", "price": "BIGINT"},
}


@dataclass(frozen=True, slots=True)
class Data:
    """`rows` rows over `span` seconds in `files` files of equal size."""

    rows: int = 10_000_000
    keys: int = 100
    files: int = 10
    span: int = 3600
    seed: int = 7
    disorder: int = 1
    late: int = 0
    kind: str = "market"
    format: str = "parquet"

    @property
    def name(self) -> str:
        return (
            f"{self.kind}-{self.rows}-rows-{self.keys}-keys-{self.files}-files-{self.span}-s"
            f"-disorder-{self.disorder}-late-{self.late}-seed-{self.seed}-{self.format}"
        )

    @property
    def rows_per_file(self) -> int:
        return self.rows // self.files

    @property
    def columns(self) -> dict[str, str]:
        """Name and SQL type of the columns, the time left out."""
        return COLUMNS[self.kind]


def files_of(data: Data, root: Path, part: int | None = None) -> Path:
    """The directory that holds the files, or just the first `part`; written now unless they are there."""
    directory, finished = root / data.name, root / f"{data.name}.json"
    if not finished.exists():
        directory.mkdir(parents=True, exist_ok=True)
        for number in range(data.files):
            _write(data, number, directory / f"part-{number:05d}.{data.format}")
        finished.write_text(json.dumps(asdict(data)))
    return directory if part in (None, data.files) else _first(directory, part)


def _first(directory: Path, part: int) -> Path:
    """A directory of links to the first `part` files."""
    links = directory.with_name(f"{directory.name}-first-{part}")
    links.mkdir(exist_ok=True)
    for path in sorted(directory.iterdir())[:part]:
        if not (links / path.name).exists():
            os.link(path, links / path.name)
    return links


def table(data: Data, number: int) -> pa.Table:
    """The rows of file `number`."""
    random = np.random.default_rng([data.seed, number])
    count = data.rows_per_file
    order = np.arange(number * count, (number + 1) * count, dtype=np.int64)
    times = START + order * (data.span * 1_000_000) // data.rows
    times += random.integers(0, data.disorder * 1_000_000, count)
    columns = nexmark.columns(order, random) if data.kind == "nexmark" else _market(data, random)
    if data.late:
        columns["late"] = _late(data, number, random)
        times[columns["late"]] -= LATE_FILES * data.span * 1_000_000 // data.files
    return pa.table(columns | {"ts": pa.array(times, pa.timestamp("us", tz="UTC"))})


def _market(data: Data, random: np.random.Generator) -> dict[str, np.ndarray]:
    count = data.rows_per_file
    return {
        "key": random.integers(0, data.keys, count, dtype=np.int32),
        "price": random.integers(5_000, 15_001, count) / 100,
        "qty": random.integers(1, 1_001, count),
    }


def _late(data: Data, number: int, random: np.random.Generator) -> np.ndarray:
    """Which rows are late: none while there is nothing that far back."""
    if number <= LATE_FILES:
        return np.zeros(data.rows_per_file, bool)
    return random.integers(0, 1000, data.rows_per_file) < data.late


def _write(data: Data, number: int, path: Path) -> None:
    rows = table(data, number)
    if data.format == "csv":
        rows = rows.set_column(rows.num_columns - 1, "us", rows.column("ts").cast("int64"))
        pacsv.write_csv(rows, path, pacsv.WriteOptions(include_header=False))
    else:
        pq.write_table(rows, path)
    # Spark takes files in the order of their modification times.
    os.utime(path, (1_767_225_600 + number, 1_767_225_600 + number))


def lanes_of(directory: Path, count: int) -> Path:
    """The same lines in `count` files, made now unless they are there: lane n has every count-th file from n.

    For an engine that reads files side by side and in no order: within a lane time goes on.
    """
    lanes = directory.with_name(f"{directory.name}-lanes-{count}")
    finished = directory.with_name(f"{lanes.name}.json")
    if not finished.exists():
        lanes.mkdir(exist_ok=True)
        for lane in range(count):
            with (lanes / f"lane-{lane}").open("wb") as merged:
                for path in sorted(directory.iterdir())[lane::count]:
                    merged.write(path.read_bytes())
        finished.write_text(json.dumps({"lanes": count}))
    return lanes
