"""A program on batches given one by one: the same ingest, log and answers as a run, without a stream.

For tests of programs (`weft test`) and of weft itself.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.engine.errands import Crew
from weft.engine.relations.evaluate import schema_of
from weft.engine.runtime import Runtime
from weft.kernels.arrow import arrow_type
from weft.lang.parse import parse_program
from weft.log.home import Home
from weft.plan.nodes import Stream
from weft.plan.tree import schema
from weft.spark.finish import finish
from weft.spark.frames import frame
from weft.spark.ingest import Ingest
from weft.spark.running import bind_with_spark
from weft.spark.sql import quoted
from weft.times import Instant


class Replay:
    """A program fed by hand. Each batch is answered before the next one is taken."""

    strict_types = True  # its columns have exactly the types that the plan tells

    def __init__(self, spark: SparkSession, home: Path, crew: Crew | None = None) -> None:
        self.spark, self.home, self._crew = spark, home, crew
        self._opened: Home | None = None

    def start(self, program: str) -> None:
        """Open the program on the home; again after `stop`, it goes on where it was."""
        self._bound = bind_with_spark(self.spark, parse_program(program))
        self._opened = Home.open(self.home)
        self.runtime = Runtime(self._opened, self._bound, lambda jobs: finish(self.spark, jobs), self._crew)
        self._begin_tables()
        self._ingests = {one.name: Ingest(self.spark, self.runtime, one) for one in self._bound.streams}
        self._keys: dict[str, str] = {}  # also of queries that have stopped
        self._note_keys()

    def change(self, program: str) -> None:
        """Go on with another program over the same streams."""
        self._bound = bind_with_spark(self.spark, parse_program(program))
        self.runtime.change(self._bound)
        self._begin_tables()
        self._note_keys()

    def _note_keys(self) -> None:
        self._keys |= {name: query.key for name, query in self.runtime.running.items()}

    def ingest(self, stream: str, rows: pa.Table) -> None:
        """Take in the next batch: the columns that the source has, in declared order."""
        ingest = self._ingests[stream]
        batch = frame(self.spark, rows).selectExpr(*_columns(ingest.stream))
        ingest.on_batch(batch, self.runtime.logs[stream].next)
        self.runtime.step()

    def revise(self, table: str, rows: pa.Table) -> None:
        """Make these the rows of a table, for rows after all that were taken in so far."""
        self.runtime.refresh(table, rows)

    def _begin_tables(self) -> None:
        """Tables that have no rows yet are empty."""
        for table in self._bound.tables:
            if table.flow is None and table.name not in self.runtime.tables.latest():
                self.revise(table.name, schema_of(table.columns).empty_table())

    def drain(self, to: Instant | None) -> None:
        """Answer every window that ends by `to`; None: every window that holds a row."""
        if to is None:
            self.runtime.step(why="drain", drain=True)
        else:
            self.runtime.step(why="statement", watermarks=dict.fromkeys(self._ingests, to))

    def results(self, query: str) -> pa.Table:
        """All answers of a query so far."""
        return self._read(self._keys[query]) or self._nothing(query)

    def late(self, query: str) -> int:
        """Rows that came too late for a window of the query that was answered already."""
        return self.runtime.tally.get("late", self._keys[query])

    def dead(self, query: str) -> int:
        """Rows and answers on which an expression of the query failed."""
        return self.runtime.tally.get("dead", self._keys[query])

    def stop(self) -> None:
        if self._opened is not None:  # else the program was refused
            self._opened.close()

    def _read(self, key: str) -> pa.Table | None:
        log = self.runtime.answers
        found = [table for record in log.records() if (table := log.read(record, key)) is not None]
        return pa.concat_tables(found, promote_options="default") if found else None

    def _nothing(self, name: str) -> pa.Table:
        query = next(query for query in self._bound.queries if query.name == name)
        return pa.table({one.name: pa.array([], arrow_type(one.type)) for one in schema(query.plan)})


def _columns(stream: Stream) -> list[str]:
    """The columns of a stream over those of its source."""
    return [
        quoted(column.name) if column.expr is None else f"{column.expr.sql} AS {quoted(column.name)}"
        for column in stream.statement.columns
    ]
