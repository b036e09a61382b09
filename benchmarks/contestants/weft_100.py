"""weft with the first hundred of the queries: what the others add is the difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.contestants import weft
from benchmarks.workload import Workload


class Side(weft.Side):
    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        super().run(replace(workload, queries=workload.queries[:100]), files, out)
