"""weft: all queries as one program, from an empty home to the last answer, its cells in the driver."""

from __future__ import annotations

import tempfile
from pathlib import Path

import weft
from benchmarks.contestants.spark import OnSpark
from benchmarks.programs import program
from benchmarks.workload import Workload


class Side(OnSpark):
    placement = "driver"

    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        text = program(workload.queries, workload.data, files, out)
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as home:
            session = weft.Session(spark=self.spark, home=Path(home) / "home", placement=self.placement)
            session.sql(text)
            session.start(once=True)
            session.wait()
            session.stop()
