"""Are the answers of a contestant those of the judge? Row by row, in DuckDB.

Compared are the windows that every contestant has closed: a stream leaves those open that end past its
watermark, the greatest time less the delay, and one that ends at the end of its input closes them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.contestants.duck import events
from benchmarks.workload import Workload

TOLERANCE = 1e-9
"""Relative: sums of doubles depend on the order of addition."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many answers the judge has, their checksum, and what is not the same, by query."""

    rows: int
    checksum: str
    missing: int
    extra: int
    different: int
    example: str = ""

    @property
    def equal(self) -> bool:
        return not (self.missing or self.extra or self.different)

    def __str__(self) -> str:
        if self.equal:
            return f"{self.rows:,} answers equal"
        return f"{self.missing} missing, {self.extra} extra, {self.different} different: {self.example}"


def compare(workload: Workload, files: Path, judge: Path, other: Path) -> Verdict:
    """The answers below `other` against those below `judge`, which were made from `files`."""
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        until = closed_until(duck, workload, files)
        for name, place in (("wanted", judge), ("got", other)):
            duck.execute(f"CREATE TEMP TABLE {name} AS {_relation(workload, place, until)}")
        return _verdict(duck)


def closed_until(duck: duckdb.DuckDBPyConnection, workload: Workload, files: Path) -> int:
    """The watermark after the last row, in microseconds."""
    row = duck.execute(f"SELECT max(us) FROM {events(workload.data, files)}").fetchone()
    assert row is not None
    return int(row[0]) - workload.data.disorder * 1_000_000


def _relation(workload: Workload, place: Path, until: int) -> str:
    """`query, window_end, key, value` of closed windows, whatever the files look like."""
    keyed = {query.name: query.keyed for query in workload.queries}
    if not any(place.glob("*/*")):
        return "SELECT '' AS query, 0 AS window_end, 0 AS key, 0.0 AS value LIMIT 0"
    rows = _parquet(place) if any(place.glob("*/*.parquet")) else _csv(place)
    key = "key" if any(keyed.values()) else "0"
    return (
        f"SELECT CAST(query AS VARCHAR) AS query, epoch_us(window_end) AS window_end, "
        f"COALESCE(CAST({key} AS BIGINT), 0) AS key, CAST(value AS DOUBLE) AS value "
        f"FROM {rows} WHERE epoch_us(window_end) <= {until}"
    )


def _parquet(place: Path) -> str:
    return f"read_parquet('{place}/*/*.parquet', hive_partitioning = true, union_by_name = true)"


def _csv(place: Path) -> str:
    columns = "{'window_end': 'TIMESTAMP', 'key': 'BIGINT', 'value': 'DOUBLE'}"
    return (
        f"read_csv('{place}/*/part-*', header = false, auto_detect = false, columns = {columns}, "
        "hive_partitioning = true)"
    )


def _verdict(duck: duckdb.DuckDBPyConnection) -> Verdict:
    same = f"abs(w.value - g.value) <= {TOLERANCE} * greatest(abs(w.value), abs(g.value))"
    duck.execute(
        "CREATE TEMP TABLE compared AS SELECT query, window_end, key, w.value AS wanted, g.value AS got, "
        f"w.value IS NULL AS extra, g.value IS NULL AS missing, NOT ({same}) AS different "
        "FROM wanted w FULL JOIN got g USING (query, window_end, key)"
    )
    counts = duck.execute(
        "SELECT count(*) FILTER (missing), count(*) FILTER (extra), count(*) FILTER (different) FROM compared"
    ).fetchone()
    sizes = duck.execute(
        "SELECT (SELECT count(*) FROM wanted), (SELECT count(*) FROM got), "
        "(SELECT printf('%016x', bit_xor(hash(query, window_end, key))) FROM wanted)"
    ).fetchone()
    example = duck.execute(
        "SELECT query, make_timestamp(window_end), key, wanted, got FROM compared "
        "WHERE missing OR extra OR different ORDER BY 1, 2, 3 LIMIT 1"
    ).fetchone()
    assert counts is not None
    assert sizes is not None
    missing, extra, different = counts
    wanted, got, checksum = sizes
    # A row given twice finds its partner twice, and shows only in the number of rows.
    extra = max(extra, got - wanted + missing)
    return Verdict(wanted, checksum, missing, extra, different, _said(example))


def _said(example: tuple[object, ...] | None) -> str:
    if example is None:
        return ""
    query, end, key, wanted, got = example
    return f"{query}, window to {end}, key {key}: {wanted} wanted, got {got}"
