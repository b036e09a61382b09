"""How long from a trigger to durable answers with the demo's queries? Does the state on disk stay level?"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from pyspark.sql import SparkSession

import weft
from benchmarks.arrivals import Arrivals
from benchmarks.measure import Claim, Measured, Report, Run, lead_of, slow, tree_cpu

QUESTION = (
    "the demo's queries in batches of about 2,000 rows, and of ten, result store on: "
    "from trigger to durable answer"
)
BOUND_SECONDS = 0.5
NEARLY_EMPTY_SECONDS = 0.35
NEARLY_EMPTY = {
    "'rows.per.batch' = '2000'": "'rows.per.batch' = '10'",
    "'rows.per.second' = '500'": "'rows.per.second' = '10'",
}
GROWTH = 1.25  # the last quarter of the run against the one before: level but for the rhythm of snapshots
WARM_BATCHES, MEASURED = 20, 100


def ask(spark: SparkSession, batches: int) -> Report:
    program = (files("weft") / "demo" / "market.sql").read_text()
    few = program
    for option, smaller in NEARLY_EMPTY.items():
        assert option in few
        few = few.replace(option, smaller)
    side, watch = _watched(spark, "weft, demo", batches, program)
    empty_side, empty = _watched(spark, "weft, ten rows a batch", WARM_BATCHES + MEASURED, few)
    arrivals = Arrivals()
    arrivals.run(spark)
    claims = [
        Claim("median seconds from trigger to durable answer", watch.median(), BOUND_SECONDS, at_most=True),
        Claim("the same, ten rows a batch", empty.median(), NEARLY_EMPTY_SECONDS, at_most=True),
        Claim(
            "from a row's arrival to its answer / a trigger and a batch", arrivals.ratio(), 1.0, at_most=True
        ),
        Claim("state on disk, last quarter / the one before", watch.growth(), GROWTH, at_most=True),
    ]
    remarks = (
        f"{MEASURED} batches after {WARM_BATCHES} to warm up; 95th percentile {watch.slow():.2f} s, "
        f"with ten rows {empty.slow():.2f} s",
        f"of it {watch.lead:.2f} s are Spark's, from the trigger until it hands over the batch (its offset "
        f"log), with ten rows {empty.lead:.2f} s",
        arrivals.remark(),
    )
    return Report(QUESTION, (side, empty_side), tuple(claims), remarks)


def _watched(spark: SparkSession, name: str, batches: int, program: str) -> tuple[Measured, Watch]:
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        watch = Watch(Path(directory) / "home")
        rows, run = watch.run(spark, batches, program)
    load = before, os.getloadavg()[0]
    return Measured(name, rows, (run,), f"{len(watch.seen)} batches seen", load), watch


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
            lead_of(progress) for query in session.spark.streams.active for progress in query.recentProgress
        ]
        session.stop()
        return rows, Run(tree_cpu() - cpu, time.perf_counter() - wall)

    @property
    def lead(self) -> float:
        """What of a batch is Spark's, before weft has it."""
        return statistics.median(self.leads)

    @property
    def latencies(self) -> list[float]:
        """Seconds from trigger to durable answer, of the batches that count."""
        return [self.lead + seconds for _, seconds, _ in self.seen[WARM_BATCHES : WARM_BATCHES + MEASURED]]

    def median(self) -> float:
        return statistics.median(self.latencies)

    def slow(self) -> float:
        """What one batch in twenty takes."""
        return slow(self.latencies)

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
