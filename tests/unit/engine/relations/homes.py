"""Relations on a home, without Spark: batches go through the log, and steps are done as in a run.

adapter = OnHome(path); adapter.start(text)      opens the home; `stop` forgets all that is in memory
adapter.ingest(stream, rows)                     one batch and its step, as weft.spark.replay does
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow as pa

from tests.unit.engine.relations.loom import level1
from weft.engine.batch import Batch
from weft.engine.errands import Crew
from weft.engine.intake import INTAKE
from weft.engine.relations.evaluate import schema_of, without_spark
from weft.engine.runtime import Runtime
from weft.log.home import Home
from weft.optimize.pipeline import optimize_program
from weft.plan.nodes import Program
from weft.plan.relationtree import columns
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.testing.harness import bound
from weft.testing.values import micros
from weft.times import SECOND, Instant


class OnHome:
    """A program of relations, fed by hand; its streams have their time in `at`."""

    strict_types = True
    finisher = staticmethod(without_spark)

    def __init__(self, path: Path, crew: Crew | None = None) -> None:
        self.path, self.crew = path, crew

    def start(self, program: str) -> None:
        self._home = Home.open(self.path)
        self.runtime = Runtime(self._home, planned(program), self.finisher, self.crew)
        self._begin_tables(planned(program))
        self._note_queries()

    def revise(self, table: str, rows: pa.Table) -> None:
        self.runtime.refresh(table, rows)

    def _begin_tables(self, program: Program) -> None:
        """Tables that have no rows yet are empty."""
        for table in program.tables:
            if table.flow is None and table.name not in self.runtime.tables.latest():
                self.revise(table.name, schema_of(table.columns).empty_table())

    def change(self, program: str) -> None:
        self.runtime.change(planned(program))
        self._note_queries()

    def _note_queries(self) -> None:
        """Also those that are dropped later can be asked for."""
        known = self.runtime.running
        self._keys = getattr(self, "_keys", {}) | {name: query.key for name, query in known.items()}
        related = self.runtime.plan.related
        schemas = {each.query.name: schema_of(columns(each.relation)) for each in related}
        self._schemas = getattr(self, "_schemas", {}) | schemas

    def ingest(self, stream: str, rows: pa.Table) -> None:
        self.commit(stream, rows)
        self.runtime.step()

    def commit(self, stream: str, rows: pa.Table) -> None:
        """Only make a batch durable."""
        epoch, plan, _ = self.runtime.terms(stream)
        assert plan is not None
        made = level1(self.runtime.plan, stream, rows)
        self.runtime.commit(
            Batch(
                stream=stream,
                number=self.runtime.logs[stream].next,
                table=_counts(plan, rows),
                layout=key_layout(plan),
                epoch=epoch,
                plan=plan,
                standing={} if made is None else {INTAKE: made},
                dead=None,
                spark_id="",
                now=0,
                started=0.0,
                buckets=self.runtime.buckets,
            )
        )

    def drain(self, to: Instant | None) -> None:
        if to is None:
            self.runtime.step(why="drain", drain=True)
        else:
            self.runtime.step(why="statement", watermarks=dict.fromkeys(self.runtime.logs, to))

    def results(self, query: str) -> pa.Table:
        log = self.runtime.answers
        found = [log.read(record, self._keys[query]) for record in log.records()]
        told = [table for table in found if table is not None]
        return pa.concat_tables([self._schemas[query].empty_table(), *told])

    def late(self, query: str) -> int:
        return self.runtime.tally.get("late", self._keys[query])

    def dead(self, query: str) -> int:
        return self.runtime.tally.get("dead", self._keys[query])

    def stop(self) -> None:
        self._home.close()

    def restart(self, program: str) -> None:
        self.stop()
        self.start(program)

    def batches(self, stream: str) -> list[int]:
        """The batches of which the log still has the files."""
        return [record.number for record in self.runtime.logs[stream].records()]


@cache
def planned(text: str) -> Program:
    return optimize_program(bound(text))


def rows(*given: tuple[str, int, float]) -> pa.Table:
    """Of a stream: k, v, and event time in seconds."""
    keys, numbers, seconds = zip(*given, strict=True)
    times = pa.array([round(at * SECOND) for at in seconds], pa.timestamp("us", tz="UTC"))
    return pa.table({"k": pa.array(keys), "v": pa.array(numbers, pa.int32()), "at": times})


def _counts(plan: StreamPlan, rows: pa.Table) -> pa.Table:
    """What level 1 counts of a batch."""
    times = [micros(at) for at in rows.column("at").to_pylist()]
    counted = {"feed": -1, "status": 1, "slice": None, "rows": len(times), "late": 0}
    counted |= {"min_ts": min(times, default=None), "max_ts": max(times, default=None)}
    counted |= {f"e{at}": 0 for at, _ in enumerate(plan.guards)}
    return pa.table({name: pa.array([value], pa.int64()) for name, value in counted.items()})
