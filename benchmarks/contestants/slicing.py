"""The least that any plan on Spark can cost: read once, aggregate once, all files in one batch.

The slices are as long as the widest that all windows are made of, and hold the partials the queries need.
"""

from __future__ import annotations

import math
from pathlib import Path

from benchmarks import partials
from benchmarks.contestants.spark import OnSpark, read
from benchmarks.workload import Workload


class Side(OnSpark):
    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        width = math.gcd(*(query.slide for query in workload.queries))
        read(self.spark, workload.data, files).createOrReplaceTempView("events")
        slices = self.spark.sql(
            f"SELECT key, unix_seconds(ts) - unix_seconds(ts) % {width} AS second, "
            f"{partials.lift(workload.queries)} FROM events GROUP BY 1, 2"
        )
        slices.write.format("noop").mode("overwrite").save()
