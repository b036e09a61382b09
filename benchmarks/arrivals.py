"""How long from the arrival of the row that closes a window until a reader sees the answer?"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import weft
from benchmarks.measure import lead_of, slow

TRIGGER_SECONDS = 1.0
WARM, ARRIVALS = 20, 60


class Arrivals:
    """Puts files of one row into a directory, and looks at the result store until it shows the answer."""

    def __init__(self) -> None:
        self.seen: list[float] = []  # seconds until a reader sees the answer
        self.batches: list[float] = []  # seconds from trigger to durable answer

    def ratio(self) -> float:
        """One answer in twenty is seen later: in units of a trigger and of a batch that is as slow."""
        return slow(self.seen) / (TRIGGER_SECONDS + slow(self.batches))

    def remark(self) -> str:
        return (
            f"{ARRIVALS} rows that close a window each, at random times, trigger {TRIGGER_SECONDS:.0f} s: "
            f"readers of the result store see the answer after {statistics.median(self.seen):.2f} s, one in "
            f"twenty after {slow(self.seen):.2f} s; a batch takes {statistics.median(self.batches):.2f} s, "
            f"one in twenty {slow(self.batches):.2f} s"
        )

    def run(self, spark: SparkSession) -> None:
        chance = random.Random(1)
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
            inbox = Path(directory) / "inbox"
            inbox.mkdir()
            session = weft.Session(spark=spark, home=Path(directory) / "home")
            session.sql(
                "CREATE STREAM clicks (page STRING, at TIMESTAMP) "
                "TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF "
                f"FROM json OPTIONS ('path' = '{inbox}');"
                "CREATE QUERY clicked AS SELECT page, window_end, COUNT(*) AS n "
                "FROM clicks [RANGE 1 SECOND] GROUP BY page;"
            )
            session.start(trigger=f"{TRIGGER_SECONDS:.0f}s")
            for number in range(WARM + ARRIVALS):
                seconds = self._arrive(session, inbox, number)
                if number >= WARM:
                    self.seen.append(seconds)
                    self.batches.append(session.status().latency_seconds)
                time.sleep(TRIGGER_SECONDS * chance.random())
            lead = statistics.median(
                lead_of(progress) for query in spark.streams.active for progress in query.recentProgress
            )
            self.batches = [lead + seconds for seconds in self.batches]
            session.stop()

    def _arrive(self, session: weft.Session, inbox: Path, number: int) -> float:
        """The row of second `number` closes the window before; the first one closes none."""
        staged = inbox / f".{number}"
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_800_000_000 + number))
        staged.write_text(json.dumps({"page": "home", "at": at}))
        staged.rename(inbox / f"{number:06d}.json")
        began = time.perf_counter()
        while session.table("clicked").num_rows < number:
            time.sleep(0.01)
        return time.perf_counter() - began
