"""Answers recomputed from exactly the committed input, by plain Spark batch SQL, and compared.

The recomputation knows nothing of slices, partials or batches: it is the meaning of the query, over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from weft import results
from weft.engine.windows import Reach
from weft.errors import QueryError, RunError, nearest
from weft.log.answers import AnswerLog, AnswerRecord
from weft.log.catalog import Catalog, QueryVersion
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.plan.nodes import Program, Query, Related
from weft.reference import reference_sql
from weft.share.parts import parts
from weft.testing.compare import bounds, difference
from weft.testing.values import rows_of
from weft.times import BEGINNING, Instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying one query; `note` says what could not be, or what to bear in mind."""

    query: str
    windows: int
    rows: int
    equal: bool
    differences: list[str]
    note: str = ""


def verify(spark: SparkSession, home: AnyPath, program: Program, name: str) -> Verification:
    """Compare the answers of a query with the ones that plain SQL gives over the committed input."""
    from weft.spark.checkpoint import checkpoint_of  # noqa: PLC0415  imports pyspark
    from weft.spark.committed import read_committed  # noqa: PLC0415

    query = _find(program, name)
    if isinstance(query.plan, Related):
        note = "answers of queries over several sources, or of rows as they are, cannot be verified yet"
        return Verification(query.name, 0, 0, False, [], note)
    looked = Home.look(home)
    version = _version(Catalog(looked), query)
    last = AnswerLog(looked).last
    written = list(results.tables(results.find(home, query.name, version.version)))
    found = pa.concat_tables(written) if written else pa.table({})
    if last is None:
        return Verification(query.name, 0, 0, True, [], "nothing has been answered yet")
    taken = parts(query)
    stream = program.stream(taken.stream)
    rows = read_committed(
        spark, stream, checkpoint_of(looked, stream.name), last.meta["positions"].get(stream.name, -1)
    )
    if rows is None:
        note = f"its source ({stream.statement.format}) cannot be read again"
        return Verification(query.name, _windows(found), found.num_rows, False, [], note)
    rows.createOrReplaceTempView("_weft_committed")
    sql = reference_sql(
        query,
        stream,
        dialect="spark",
        watermark=_upto(last, query),
        after=version.bound,
        table="_weft_committed",
    )
    expected = spark.sql(sql).toArrow()
    differences = difference(rows_of(expected), rows_of(found), bounds(query)).splitlines()
    return Verification(
        query.name, _windows(found), found.num_rows, not differences, differences, _note(last, version)
    )


def _find(program: Program, name: str) -> Query:
    for query in program.queries:
        if query.name.lower() == name.lower():
            return query
    help = nearest(name, [query.name for query in program.queries])
    raise QueryError("unknown-query", f"there is no query `{name}` in the program", help=help)


def _version(catalog: Catalog, query: Query) -> QueryVersion:
    for version in catalog.queries():
        if version.name == query.name:
            return version
    raise RunError(
        "query-not-run",
        f"query `{query.name}` is not in force in this home",
        help="run the program first, or name the home it runs in with --home",
    )


def _upto(last: AnswerRecord, query: Query) -> Instant | None:
    """How far the windows of the query have been answered."""
    taken = parts(query)
    if taken.window is None:
        return None
    watermark, drained = last.meta["reach"].get(taken.stream, [BEGINNING, BEGINNING])
    return Reach(watermark, drained).upto(taken.window.range)


def _windows(found: pa.Table) -> int:
    return len(found.column("window_end").unique()) if "window_end" in found.column_names else 0


def _note(last: AnswerRecord, version: QueryVersion) -> str:
    late = last.meta["counts"].get("late", {}).get(version.key, 0)
    return f"{late} rows of the last step came too late and are in no answer" if late else ""
