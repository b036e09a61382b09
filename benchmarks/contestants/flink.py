"""Flink SQL: all queries as HOP windows in one statement set, in a local cluster as wide as the machine.

Set as an expert would: objects reused, rows gathered in mini-batches, aggregates in two phases, so that what
crosses the network are the partials of slices, which Flink too shares among the windows of one query.

Its Python package brings no Parquet, so it is raced on CSV. Its file source hands out files in no order, so
that most rows would be late; so it reads `lanes`: the same lines, in as many files as there are readers.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.data import Data, lanes_of
from benchmarks.programs import WindowQuery
from benchmarks.workload import Workload

SETTINGS = {
    "parallelism.default": str(os.cpu_count()),
    "pipeline.object-reuse": "true",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.local-time-zone": "UTC",
    # A hundred aggregations in one job need more than the defaults of a local cluster.
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.min": "512m",
    "taskmanager.memory.network.max": "512m",
}


class Scan:
    """Reads every column of every row, and nothing more."""

    def __init__(self, memory: str) -> None:
        os.environ["JVM_ARGS"] = f"-Xmx{memory}"
        # Only in Flink's own environment, and only when it runs.
        from pyflink.common import Configuration  # noqa: PLC0415
        from pyflink.table import EnvironmentSettings, TableEnvironment  # noqa: PLC0415

        settings = Configuration()
        for key, value in SETTINGS.items():
            settings.set_string(key, value)
        streaming = EnvironmentSettings.new_instance().in_streaming_mode()
        self.tables = TableEnvironment.create(streaming.with_configuration(settings).build())

    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        self._declare(workload.data, files)
        columns = ", ".join(f"`{name}` {kind}" for name, kind in workload.data.columns.items())
        self._table("hole", f"{columns}, ts TIMESTAMP_LTZ(3)", {"connector": "blackhole"})
        names = ", ".join(f"`{name}`" for name in workload.data.columns)
        self.tables.execute_sql(f"INSERT INTO hole SELECT {names}, ts FROM events").wait()

    def close(self) -> None:
        """Nothing to end: the JVM ends with this process."""

    def _declare(self, data: Data, files: Path) -> None:
        columns = ", ".join(f"`{name}` {kind}" for name, kind in data.columns.items())
        self._table(
            "events",
            f"{columns}, us BIGINT, ts AS TO_TIMESTAMP_LTZ(us / 1000, 3), "
            f"WATERMARK FOR ts AS ts - INTERVAL '{data.disorder}' SECOND",
            {"connector": "filesystem", "path": str(lanes_of(files, os.cpu_count() or 1)), "format": "csv"},
        )

    def _table(self, name: str, columns: str, options: dict[str, str]) -> None:
        given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        self.tables.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS `{name}`")
        self.tables.execute_sql(f"CREATE TEMPORARY TABLE `{name}` ({columns}) WITH ({given})")


class Side(Scan):
    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        self._declare(workload.data, files)
        self._sink("hole", {"connector": "blackhole"})
        inserts = self.tables.create_statement_set()
        for query in workload.queries:
            sink = "hole" if out is None else query.name
            if out is not None:
                path = str(out / f"query={query.name}")
                self._sink(sink, {"connector": "filesystem", "path": path, "format": "csv"})
            inserts.add_insert_sql(f"INSERT INTO `{sink}` {_select(query)}")
        inserts.execute().wait()

    def _sink(self, name: str, options: dict[str, str]) -> None:
        self._table(name, "window_end TIMESTAMP(3), `key` BIGINT, `value` DOUBLE", options)


def _select(query: WindowQuery) -> str:
    key, group = ("CAST(`key` AS BIGINT)", ", `key`") if query.keyed else ("CAST(0 AS BIGINT)", "")
    where = f" WHERE {query.where}" if query.where else ""
    return (
        f"SELECT window_end, {key}, CAST({_aggregate(query)} AS DOUBLE) FROM TABLE("
        f"HOP(TABLE events, DESCRIPTOR(ts), {_seconds(query.slide)}, {_seconds(query.range)})){where} "
        f"GROUP BY window_start, window_end{group}"
    )


def _aggregate(query: WindowQuery) -> str:
    """The average of whole numbers is a whole number in Flink."""
    return f"AVG(CAST({query.column} AS DOUBLE))" if query.function == "AVG" else query.aggregate


def _seconds(count: int) -> str:
    return f"INTERVAL '{count}' SECOND(5)"
