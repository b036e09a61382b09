"""A program on batches given one by one: the same ingest, log and answers as a run, without a stream.

For tests of programs (`weft test`) and of weft itself.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft.engine.runtime import Runtime
from weft.lang.parse import parse_program
from weft.lang.statements import CreateQuery, CreateStream
from weft.log.home import Home
from weft.spark.finish import finish
from weft.spark.runner import Ingest
from weft.spark.running import bind_with_spark
from weft.times import Instant


class Replay:
    """A program fed by hand. Each batch is answered before the next one is taken."""

    def __init__(self, spark: SparkSession, home: str | Path, text: str, file: str = "<text>") -> None:
        self.spark = spark
        statements = [s for s in parse_program(text, file) if isinstance(s, CreateStream | CreateQuery)]
        self.program = bind_with_spark(spark, statements)
        self.home = Home.open(home)
        self.runtime = Runtime(self.home, self.program, lambda jobs: finish(spark, jobs))
        self._ingests = {s.name: Ingest(spark, self.runtime, s) for s in self.program.streams}

    def ingest(self, stream: str, batch: DataFrame, step: bool = True) -> None:
        """Take in the next batch of a stream: a DataFrame with the stream's declared columns."""
        self._ingests[stream].on_batch(batch, self.runtime.logs[stream].next)
        if step:
            self.step()

    def step(self) -> None:
        """Answer what has closed."""
        while self.runtime.step():
            pass

    def drain(self, watermarks: dict[str, Instant] | None = None) -> None:
        """Answer every window that holds a row; or, given watermarks, those that end by them."""
        if watermarks is None:
            self.runtime.step(why="drain", drain=True)
        else:
            self.runtime.step(why="statement", watermarks=watermarks)

    def results(self, query: str) -> pa.Table | None:
        """All answers of a query so far; None before the first."""
        return self._read(self.runtime.running[query].key)

    def dead(self, name: str) -> pa.Table | None:
        """The dead letters of a query or a stream; None if there are none."""
        running = self.runtime.running
        return self._read(f"dead:{running[name].key if name in running else name}")

    def counts(self, query: str) -> tuple[int, int]:
        """Rows that came too late for `query`, and its dead letters."""
        key = self.runtime.running[query].key
        return self.runtime.tally.get("late", key), self.runtime.tally.get("dead", key)

    def close(self) -> None:
        self.home.close()

    def _read(self, key: str) -> pa.Table | None:
        log = self.runtime.answers
        tables = [log.read(record, key) for record in log.records()]
        found = [table for table in tables if table is not None]
        return pa.concat_tables(found) if found else None
