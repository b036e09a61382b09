"""Weft itself as something that runs programs: its two loops, called by hand instead of by a trigger."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.sql.oracles import computed_frame
from tests.sql.values import arrow_type
from weft.engine.runtime import Runtime
from weft.lang.parse import parse_program
from weft.log.home import Home
from weft.plan.nodes import Project
from weft.spark.finish import finish
from weft.spark.runner import Ingest
from weft.spark.running import bind_with_spark


class Weft:
    """Implements Adapter: a program on a home of its own, batch by batch and step by step."""

    strict_types = True

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home = spark, home
        self.batches: dict[str, int] = {}

    def start(self, program: str) -> None:
        bound = bind_with_spark(self.spark, parse_program(program))
        self.opened = Home.open(self.home)
        self.runtime = Runtime(self.opened, bound, lambda jobs: finish(self.spark, jobs))
        self.ingests = {stream.name: Ingest(self.spark, self.runtime, stream) for stream in bound.streams}
        self.batches = {name: log.next for name, log in self.runtime.logs.items()}

    def ingest(self, stream: str, rows: pa.Table) -> None:
        frame = computed_frame(self.spark, self.ingests[stream].stream, rows)
        self.ingests[stream].on_batch(frame, self.batches[stream])
        self.batches[stream] += 1
        self.runtime.step()

    def drain(self, to: int | None) -> None:
        if to is None:
            self.runtime.step(why="drain", drain=True)
        else:
            self.runtime.step(why="statement", watermarks=dict.fromkeys(self.ingests, to))

    def results(self, query: str) -> pa.Table:
        key = self.runtime.running[query].key
        log = self.runtime.answers
        tables = [table for record in log.records() if (table := log.read(record, key)) is not None]
        return pa.concat_tables(tables) if tables else self._nothing(query)

    def late(self, query: str) -> int:
        return self.runtime.tally.get("late", self.runtime.running[query].key)

    def dead(self, query: str) -> int:
        return self.runtime.tally.get("dead", self.runtime.running[query].key)

    def stop(self) -> None:
        self.opened.close()

    def _nothing(self, query: str) -> pa.Table:
        plan = next(found.plan for found in self.runtime.program.queries if found.name == query)
        assert isinstance(plan, Project)
        return pa.table({item.name: pa.array([], arrow_type(item.type or "string")) for item in plan.items})
