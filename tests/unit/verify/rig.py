"""Programs of relations on a home, fed by hand without Spark, and verified by DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from tests.properties.relationtruth import without_zones
from tests.unit.engine.relations.loom import level1
from weft.engine.batch import Batch
from weft.engine.intake import INTAKE
from weft.engine.relations.evaluate import schema_of
from weft.engine.runtime import Runtime
from weft.log.home import Home
from weft.optimize.pipeline import optimize_program
from weft.plan.nodes import Query, Related
from weft.plan.relations import Emitted
from weft.plan.relationtree import columns, streams, tables
from weft.reference.meaning import DialectName
from weft.share.rowcolumns import key_layout
from weft.testing.harness import bound
from weft.times import Duration
from weft.verify.histories import Histories, of_log, of_sources, times_of
from weft.verify.relations import verify_relation
from weft.verify.runs import Run, read_run
from weft.verify.verification import Verification


class DuckEngine:
    """Carries out the SQL of the reference."""

    dialect: DialectName = "duckdb"

    def __init__(self) -> None:
        self.asked = 0  # how often
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")

    def put(self, name: str, rows: pa.Table) -> None:
        self._connection.register("_given", without_zones(rows))
        self._connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS FROM _given')

    def run(self, sql: str) -> pa.Table:
        self.asked += 1
        return self._connection.sql(sql).to_arrow_table()


class Rig:
    """A program on a home; `again` forgets what is in memory."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.asked = 0  # queries that the last `verify` took
        self.fed: dict[str, list[pa.Table]] = {}
        self.home = Home.open(path)
        self.runtime = Runtime(self.home, optimize_program(bound(text)), lambda jobs: [])

    def again(self, text: str | None = None) -> Rig:
        self.home.close()
        other = Rig(self.path, text or self.text)
        other.fed = self.fed
        return other

    def change(self, text: str) -> None:
        """Go on with another program."""
        self.text = text
        self.runtime.change(optimize_program(bound(text)))

    def ingest(self, stream: str, rows: pa.Table, step: bool = True) -> None:
        """One batch, and what it tells."""
        epoch, plan = self.runtime.stream_plan(stream)
        if plan is None or not rows.num_rows:
            return
        self.fed.setdefault(stream, []).append(rows)
        times = times_of(rows, plan.stream.statement.time_column)
        made = level1(self.runtime.plan, stream, rows)
        counts: dict[str, list[int | None]] = {
            "feed": [-1],
            "status": [1],
            "slice": [None],
            "rows": [len(times)],
            "late": [0],
        }
        counts |= {f"e{at}": [0] for at in range(len(plan.guards))}
        counts |= {"min_ts": [int(times.min())], "max_ts": [int(times.max())]}
        self.runtime.commit(
            Batch(
                stream=stream,
                number=self.runtime.logs[stream].next,
                table=_counted(counts),
                layout=key_layout(plan),
                epoch=epoch,
                plan=plan,
                standing={} if made is None else {INTAKE: made},
                dead=None,
                spark_id="",
                now=0,
                started=0.0,
            )
        )
        if step:
            self.runtime.step()

    def answers(self, name: str) -> pa.Table:
        """All that was told so far."""
        log, key = self.runtime.answers, self.runtime.running[name].key
        found = [log.read(record, key) for record in log.records()]
        empty = schema_of(columns(self._relation(name))).empty_table()
        return pa.concat_tables([empty, *(table for table in found if table is not None)])

    def verify(
        self,
        name: str,
        answers: pa.Table | None = None,
        *,
        from_source: bool = False,
        retain: Duration | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Verification:
        """What comes of verifying a query, with these answers in place of its own."""
        run = read_run(Home.look(self.path), streams(self._relation(name)))
        assert run is not None
        known = self._from_source(name, run) if from_source else self._from_log(name, run)
        given = self.answers(name) if answers is None else answers
        engine, version = DuckEngine(), self.runtime.running[name]
        found = verify_relation(engine, name, version, known, run, given, retain, tell)
        self.asked = engine.asked
        return found

    def _from_log(self, name: str, run: Run) -> Histories:
        program, relation = self.runtime.program, self._relation(name)
        query = next(one for one in program.queries if one.name == name)
        read = [program.stream(each) for each in streams(relation)]
        used = [table for table in program.tables if table.name in tables(relation)]
        return of_log(Home.look(self.path), query, read, used, run)

    def _from_source(self, name: str, run: Run) -> Histories:
        program, relation = self.runtime.program, self._relation(name)
        rows = {program.stream(each): pa.concat_tables(self.fed[each]) for each in streams(relation)}
        used = [table for table in program.tables if table.name in tables(relation)]
        return of_sources(Home.look(self.path), relation, rows, used, run)

    def _relation(self, name: str) -> Emitted:
        query: Query = next(one for one in self.runtime.program.queries if one.name == name)
        assert isinstance(query.plan, Related)
        assert isinstance(query.plan.relation, Emitted)
        return query.plan.relation

    def refresh(self, table: str, rows: pa.Table) -> None:
        self.runtime.refresh(table, rows)

    def stop(self) -> None:
        self.home.close()


def _counted(counts: Mapping[str, Sequence[int | None]]) -> pa.Table:
    """What level 1 counts of a batch; numbers of feeds are short."""
    short = {"feed": pa.int32(), "status": pa.int32()}
    arrays = [pa.array(values, short.get(name, pa.int64())) for name, values in counts.items()]
    return pa.table(arrays, names=list(counts))


def mutated(answers: pa.Table, lost: Sequence[int] = (), doubled: Sequence[int] = ()) -> pa.Table:
    """The answers without some, and with some twice."""
    kept = [at for at in range(len(answers)) if at not in lost]
    return answers.take(pa.array([*kept, *doubled], pa.int64()))
