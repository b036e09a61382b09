"""How long from a trigger to durable answers with the demo's queries? Does the state on disk stay level?"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

import weft
from benchmarks.measure import Claim, Measured, Report, Run, tree_cpu

QUESTION = (
    "the demo's queries in batches of about 2,000 rows, result store on: from trigger to durable answer"
)
BOUND_SECONDS = 0.5
GROWTH = 1.25  # the last quarter of the run against the one before: level but for the rhythm of snapshots
WARM_BATCHES = 20


def ask(spark: SparkSession, batches: int) -> Report:
    program = (files("weft") / "demo" / "market.sql").read_text()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        watch = Watch(Path(directory) / "home")
        rows, run = watch.run(spark, batches, program)
    latencies = [seconds for _, seconds, _ in watch.seen[WARM_BATCHES : WARM_BATCHES + 100]]
    lead = statistics.median(watch.leads)
    load = before, os.getloadavg()[0]
    side = Measured("weft, demo", rows, (run,), f"{len(watch.seen)} batches seen", load)
    claims = [
        Claim(
            "median seconds from trigger to durable answer",
            lead + statistics.median(latencies),
            BOUND_SECONDS,
            at_most=True,
        ),
        Claim("state on disk, last quarter / the one before", watch.growth(), GROWTH, at_most=True),
    ]
    slow = statistics.quantiles(latencies, n=20)[-1]
    remarks = (
        f"{len(latencies)} batches after {WARM_BATCHES} to warm up; 95th percentile {lead + slow:.2f} s",
        f"of it {lead:.2f} s are Spark's, from the trigger until it hands over the batch (its offset log)",
    )
    return Report(QUESTION, (side,), tuple(claims), remarks)


class Watch:
    """Runs a program and notes at every new answer step its number, its latency and the bytes of state."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.seen: list[tuple[int, float, int]] = []
        self.leads: list[float] = []  # seconds from Spark's trigger until weft has the batch

    def run(self, spark: SparkSession, batches: int, program: str) -> tuple[int, Run]:
        session = weft.Session(spark=spark, home=self.home)
        session.sql(program)
        cpu, wall = tree_cpu(), time.perf_counter()
        session.start()
        while len(self.seen) < batches:
            status = session.status()
            if status.steps and (not self.seen or status.steps > self.seen[-1][0]):
                self.seen.append((status.steps, status.latency_seconds, self.state_bytes()))
            time.sleep(0.1)  # less than a batch; to look more often would be part of what is measured
        rows = sum(stream.rows for stream in session.status().streams)
        self.leads = [
            _lead(progress) for query in session.spark.streams.active for progress in query.recentProgress
        ]
        session.stop()
        return rows, Run(tree_cpu() - cpu, time.perf_counter() - wall)

    def growth(self) -> float:
        """The state in the last quarter of the run over that in the quarter before, by medians."""
        quarter = max(1, len(self.seen) // 4)
        sizes = [size for _, _, size in self.seen]
        return statistics.median(sizes[-quarter:]) / statistics.median(sizes[-2 * quarter : -quarter])

    def state_bytes(self) -> int:
        """What the home holds besides the answers: those are asked for, and kept."""
        total = 0
        for path in self.home.rglob("*"):
            if "results" in path.relative_to(self.home).parts:
                continue
            try:
                total += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:  # expired just now
                continue
        return total


def _lead(progress: StreamingQueryProgress) -> float:
    """What of a batch comes before it is handed over, in seconds."""
    before = ("latestOffset", "walCommit", "getBatch", "queryPlanning")
    return sum(progress.durationMs.get(phase, 0) for phase in before) / 1000
