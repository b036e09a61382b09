"""The tables of a running program: read before the first batch, and then as often as they say."""

from __future__ import annotations

import logging
import threading
import time

from pyspark.sql import SparkSession

from weft.engine.runtime import Runtime
from weft.errors import RunError, WeftError, nearest
from weft.plan.nodes import Program, Related, Table
from weft.plan.relationtree import tables
from weft.spark.tables import read_table
from weft.times import SECOND

_log = logging.getLogger("weft")


class Refreshing:
    """Reads tables and hands them to the runtime; what goes wrong is told, and tried again in time."""

    def __init__(self, spark: SparkSession, runtime: Runtime) -> None:
        self._spark, self._runtime = spark, runtime
        self._reading = threading.Lock()
        self._read_at: dict[str, float] = {}  # by the clock that only goes forward; tables of this run
        self.errors: dict[str, str] = {}  # of the last reading, by table

    def begin(self, program: Program) -> None:
        """Read the tables of queries that have not been read in this run.

        One that cannot be read ends it, unless there is a version from before.
        """
        for table in (table for table in program.tables if table.flow is None):
            if table.name in _used(program) - self._read_at.keys():
                try:
                    self._refresh(table)
                except WeftError as error:
                    if table.name not in self._runtime.tables.latest():
                        raise
                    self._tell(table.name, error)

    def refresh(self, name: str) -> bool:
        """Read a table now; False: nothing has changed."""
        known = {table.name.lower(): table for table in self._runtime.tables.declared.values()}
        if name.lower() in (flow.table.name.lower() for flow in self._runtime.relations.flows):
            raise RunError(
                "not-refreshed", f"table `{name}` is made of a stream, and not read again",
                because="every row of the stream changes it as it comes",
            )  # fmt: skip
        if name.lower() not in known:
            names = [table.name for table in known.values()]
            raise RunError("unknown-table", f"there is no table `{name}`", because=nearest(name, names))
        return self._refresh(known[name.lower()])

    def refresh_due(self) -> None:
        """Read the tables for which it is time."""
        for table in list(self._runtime.tables.declared.values()):
            if self._is_due(table):
                try:
                    self._refresh(table)
                except WeftError as error:
                    self._tell(table.name, error)

    def _is_due(self, table: Table) -> bool:
        every, last = table.statement.refresh, self._read_at.get(table.name)
        return every is not None and last is not None and time.monotonic() >= last + every / SECOND

    def _refresh(self, table: Table) -> bool:
        with self._reading:
            self._read_at[table.name] = time.monotonic()
            changed = self._runtime.refresh(table.name, read_table(self._spark, table))
            self.errors.pop(table.name, None)
            return changed

    def _tell(self, name: str, error: WeftError) -> None:
        if self.errors.get(name) != error.what:
            _log.warning("table %s stays as it was: %s", name, error.what)
        self.errors[name] = error.what


def _used(program: Program) -> set[str]:
    """The tables that queries read."""
    plans = [query.plan for query in program.queries]
    return {name for plan in plans if isinstance(plan, Related) for name in tables(plan.relation)}
