"""Verifying a query: what it is decides how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from weft import results
from weft.engine.epochs import Texts
from weft.errors import QueryError, RunError, nearest_or_all
from weft.log.answers import AnswerLog
from weft.log.catalog import Catalog, QueryVersion
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.plan.nodes import Program, Query, Related, Stream
from weft.plan.relations import Emitted
from weft.plan.relationtree import streams, tables
from weft.plan.tree import schema
from weft.verify.histories import of_log, of_sources
from weft.verify.relations import Tell, verify_relation
from weft.verify.runs import Run, read_run
from weft.verify.verification import Verification
from weft.verify.windows import verify_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def verify(
    spark: SparkSession, home: AnyPath, program: Program, name: str, tell: Tell = lambda _: None
) -> Verification:
    """Compare the answers of a query with the ones that plain SQL gives over the committed input.

    `tell` is told from time to time how far it has come.
    """
    from weft.spark.recomputing import reading_plainly  # noqa: PLC0415  imports pyspark

    query = _find(program, name)
    looked = Home.look(home)
    version = _version(Catalog(looked), query, program)
    last = AnswerLog(looked).last
    if last is None:
        return Verification(query.name, 0, 0, True, [], "nothing has been answered yet")
    with reading_plainly(spark):
        match query.plan:
            case Related(relation=Emitted() as relation):
                return _verify_related(spark, looked, program, query, relation, version, tell)
            case _:
                return verify_windows(spark, looked, program, query, version, last)


def _verify_related(
    spark: SparkSession,
    home: Home,
    program: Program,
    query: Query,
    relation: Emitted,
    version: QueryVersion,
    tell: Tell,
) -> Verification:
    from weft.spark.recomputing import SparkEngine  # noqa: PLC0415  imports pyspark

    found = results.find(home.path, query.name, version.version)
    answers = results.all_answers(found, {one.name: one.type for one in schema(query.plan)})
    used = [table for table in program.tables if table.name in tables(relation)]
    if made := [table.name for table in used if table.flow is not None]:
        note = f"table `{made[0]}` is made of changes, and the log does not hold all of these"
        return Verification(query.name, 0, len(answers), False, [], note)
    run = read_run(home, streams(relation))
    assert run is not None  # there is a last step
    read = [program.stream(name) for name in streams(relation)]
    with SparkEngine(spark) as engine:
        sources = _sources(spark, home, read, version, run)
        if sources is None:
            known = of_log(home, query, read, used, run)
        else:
            known = of_sources(home, relation, sources, used, run)
        return verify_relation(engine, query.name, version, known, run, answers, query.retain, tell)


def _sources(
    spark: SparkSession, home: Home, read: list[Stream], version: QueryVersion, run: Run
) -> Mapping[Stream, pa.Table] | None:
    """All rows of the streams since the beginning.

    None: one cannot be read again, or it matters with which batch rows came, which only the log can tell.
    """
    from weft.spark.recomputing import read_again  # noqa: PLC0415  imports pyspark

    unseen = run.tally.get("late", version.key) + sum(run.tally.get("ahead", each.name) for each in read)
    drained = len(run.drains) - run.is_drained
    if unseen or drained:
        return None
    found = {each: read_again(spark, home, each, run.positions.get(each.name, -1)) for each in read}
    return None if any(rows is None for rows in found.values()) else found


def _find(program: Program, name: str) -> Query:
    for query in program.queries:
        if query.name.lower() == name.lower():
            return query
    help = nearest_or_all(name, [query.name for query in program.queries])
    raise QueryError("unknown-query", f"there is no query `{name}` in the program", help=help)


def _version(catalog: Catalog, query: Query, program: Program) -> QueryVersion:
    for version in catalog.queries():
        if version.name == query.name:
            if Texts().same(version, query, program):
                return version
            raise RunError(
                "query-changed",
                f"query `{query.name}`, or a view or table that it reads, is not what it was when it ran",
                help="verify it with the program that ran, or run this one first",
            )
    raise RunError(
        "query-not-run",
        f"query `{query.name}` is not in force in this home",
        help="run the program first, or name the home it runs in with --home",
    )
