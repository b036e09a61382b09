"""Programs of relations on a home, fed by hand without Spark, and verified by DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from tests.properties.relationtruth import without_zones
from tests.unit.engine.relations.homes import OnHome
from weft.log.home import Home
from weft.plan.nodes import Query, Related
from weft.plan.relations import Emitted
from weft.plan.relationtree import streams, tables
from weft.reference.meaning import DialectName
from weft.times import Duration
from weft.verify.histories import Histories, of_log, of_sources
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


class Rig(OnHome):
    """A program on a home that remembers what it was fed, as a source would."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path)
        self.asked = 0  # queries that the last `verify` took
        self.fed: dict[str, list[pa.Table]] = {}
        self.start(text)

    def ingest(self, stream: str, rows: pa.Table, step: bool = True) -> None:
        """One batch, if any query reads the stream, and what it tells."""
        if self.runtime.terms(stream).plan is None:
            return
        self.fed.setdefault(stream, []).append(rows)
        self.commit(stream, rows)
        if step:
            self.runtime.step()

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
        given = self.results(name) if answers is None else answers
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


def mutated(answers: pa.Table, lost: Sequence[int] = (), doubled: Sequence[int] = ()) -> pa.Table:
    """The answers without some, and with some twice."""
    kept = [at for at in range(len(answers)) if at not in lost]
    return answers.take(pa.array([*kept, *doubled], pa.int64()))
