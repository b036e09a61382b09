"""Who runs: one file each, known by the name of the file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from benchmarks.workload import Workload

NAMES = {
    "weft": "weft",
    "weft_100": "weft, the first 100 queries",
    "weft_executors": "weft, on executors",
    "native": "Spark, a streaming query each",
    "rival": "Spark, one job by hand",
    "flink": "Flink SQL, one statement set",
    "duck": "DuckDB, batch",
    "slicing": "Spark, batch, slices only",
    "spark_scan": "Spark, scan only",
    "flink_scan": "Flink, scan only",
    "duck_scan": "DuckDB, scan only",
}
"""Every contestant and what it is called in reports."""

ANSWER = frozenset({"weft", "weft_executors", "native", "rival", "flink", "duck"})
"""Those that give answers; the others show what a part of the work costs."""


class Contestant(Protocol):
    """An engine that is up; making one starts it."""

    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        """All queries over all files, from nothing to the last answer.

        Answers go to `out/query=<name>/`, columns window_end, key and value, or are made and dropped.
        """
        ...

    def close(self) -> None: ...


def enter(name: str, memory: str) -> Contestant:
    """The contestant, started with so much memory for its JVM if it has one."""
    module = import_module(f"benchmarks.contestants.{name.removesuffix('_scan')}")
    return cast(Contestant, getattr(module, "Scan" if name.endswith("_scan") else "Side")(memory))
