"""What only Spark can tell of a program: types, and whether its expressions are right at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from weft.errors import Errors, QueryError, WeftError
from weft.lang.statements import Expr, Statement
from weft.plan.bind import bind_program
from weft.plan.nodes import Aggregate, Filter, Program, Project, Related, Scan, Stream, Table, Top
from weft.plan.opens import open_expressions, stand_in
from weft.plan.origins import row_expressions
from weft.plan.problems import in_order
from weft.plan.rows import type_key
from weft.plan.shapes import shape_of
from weft.plan.tree import walk
from weft.share.reading import columns_read
from weft.spark.complaints import SPARK_ERRORS, complaint
from weft.spark.sources import open_stream
from weft.spark.sql import quoted
from weft.spark.tables import open_table


def analyze(spark: SparkSession, program: Program, known: Sequence[Stream] = ()) -> dict[str, str]:
    """The types of all expressions of `program` that are open, filed by `type_key`.

    Every expression is shown to Spark, the open ones first, for the types of others rest on them. All that is
    wrong is raised together. Streams that are `known` have been analyzed before.
    """
    types: dict[str, str] = {}
    onto = Program(tuple(known), ())
    statements: list[Statement] = [
        *(s.statement for s in program.streams if s not in known),
        *(table.statement for table in program.tables),
        *program.views,
        *(q.statement for q in program.queries),
    ]
    typed, errors, told = program, list[WeftError](), True
    while told and not errors and (opened := open_expressions(typed, types)):
        found = _types(spark, typed, opened)
        told = len(found) == sum(map(len, opened.values()))
        types |= found
        try:
            typed = bind_program(statements, types, onto)
        except Errors as refused:
            errors += refused.errors
    errors += _errors(spark, typed, known)
    if errors:
        raise Errors(in_order(errors))
    return types


def check_sources(spark: SparkSession, program: Program) -> list[WeftError]:
    """What is wrong with the sources of streams and tables, found without reading a row."""
    streams = [(one, [column.name for column in one.columns]) for one in program.streams]
    return [*_unreadable(spark, streams), *_unreadable_tables(spark, program.tables)]


def check_sources_read(spark: SparkSession, program: Program) -> list[WeftError]:
    """As `check_sources`, of those streams and columns only that the queries read."""
    return _unreadable(spark, columns_read(program))


def _unreadable(spark: SparkSession, wanted: Iterable[tuple[Stream, Sequence[str]]]) -> list[WeftError]:
    errors: list[WeftError] = []
    for stream, columns in wanted:
        try:
            open_stream(spark, stream, columns)
        except WeftError as error:
            errors.append(error)
    return errors


def _unreadable_tables(spark: SparkSession, tables: Iterable[Table]) -> Iterator[WeftError]:
    for table in (table for table in tables if table.flow is None):
        try:
            open_table(spark, table)
        except WeftError as error:
            yield error


def _types(spark: SparkSession, program: Program, opened: Mapping[str, tuple[Expr, ...]]) -> dict[str, str]:
    """The types of those expressions that are right."""
    found: dict[str, str] = {}
    for name, sources in opened.items():
        stream = program.stream(name)
        computed = {made.expr.sql for made in stream.statement.columns if made.expr is not None}
        own = [source for source in sources if source.sql in computed]
        told = _types_over(_rows_read(spark, stream), own)
        rows = _rows(spark, stream)
        told |= {} if rows is None else _types_over(rows, [s for s in sources if s.sql not in computed])
        found |= {type_key(name, source): type_ for source, type_ in told.items()}
    return found


def _types_over(rows: DataFrame, sources: list[Expr]) -> dict[Expr, str]:
    try:
        fields = rows.selectExpr(*(source.sql for source in sources)).schema.fields
        return {source: field.dataType.simpleString() for source, field in zip(sources, fields)}
    except SPARK_ERRORS:
        if len(sources) <= 1:
            return {}
        return {one: type_ for source in sources for one, type_ in _types_over(rows, [source]).items()}


def _errors(spark: SparkSession, program: Program, known: Sequence[Stream]) -> Iterator[QueryError]:
    for stream in program.streams:
        if stream not in known:
            computed = [made.expr for made in stream.statement.columns if made.expr is not None]
            yield from _errors_over(_rows_read(spark, stream), computed)
        expressions = list(_expressions(program, stream))
        rows = _rows(spark, stream) if expressions else None
        if rows is not None:
            yield from _errors_over(rows, expressions)


def _errors_over(rows: DataFrame, sources: list[Expr]) -> Iterator[QueryError]:
    """What Spark finds wrong. One of each shape is enough where nothing is; else all tell which are."""
    distinct = {source.sql: source for source in sources}.values()
    try:
        rows.selectExpr(*{shape_of(source): source.sql for source in distinct}.values())
        return
    except SPARK_ERRORS:
        pass
    for source in distinct:
        try:
            rows.selectExpr(source.sql)
        except SPARK_ERRORS as error:
            yield QueryError(
                "spark-refuses",
                f"Spark cannot evaluate `{source.sql}`",
                at=source.place,
                because=complaint(error),
                help="see Spark's SQL reference for what the function or operator takes",
            )


def _rows_read(spark: SparkSession, stream: Stream) -> DataFrame:
    """No rows, with the columns that are read from the source."""
    read = [made for made in stream.statement.columns if made.expr is None]
    return spark.createDataFrame([], ", ".join(f"{quoted(made.name)} {made.type}" for made in read))


def _rows(spark: SparkSession, stream: Stream) -> DataFrame | None:
    """No rows, with all columns of the stream; None if a computed one is wrong."""
    made = [(column.name, column.expr.sql) for column in stream.statement.columns if column.expr is not None]
    try:
        return _rows_read(spark, stream).selectExpr("*", *(f"{sql} AS {quoted(name)}" for name, sql in made))
    except SPARK_ERRORS:
        return None


def _expressions(program: Program, stream: Stream) -> Iterator[Expr]:
    """Every expression of the queries on `stream`, as one over its rows."""
    for query in program.queries:
        if isinstance(query.plan, Related):
            yield from (one for name, one in row_expressions(query.plan.relation) if name == stream.name)
            continue
        nodes = list(walk(query.plan))
        if not any(isinstance(node, Scan) and node.stream == stream.name for node in nodes):
            continue
        aggregate = next((node for node in nodes if isinstance(node, Aggregate)), None)
        for node in nodes:
            match node:
                case Aggregate(_, keys, aggregations):
                    yield from (key.expr for key in keys)
                    for made in aggregations:
                        yield from (*made.args, *([made.filter] if made.filter is not None else []))
                case Filter(_, predicate):
                    yield from _over_rows([predicate], aggregate if _above(node) else None)
                case Project(_, items):
                    yield from _over_rows([item.expr for item in items], aggregate)
                case Top(_, order):
                    yield from _over_rows([key.expr for key in order], aggregate)


def _above(node: Filter) -> bool:
    return any(isinstance(below, Aggregate) for below in walk(node.source))


def _over_rows(sources: Iterable[Expr], aggregate: Aggregate | None) -> Iterator[Expr]:
    for source in sources:
        if isinstance(source.tree, exp.Column):
            continue  # what it stands for is looked at where it is made
        row = source if aggregate is None else stand_in(source, aggregate)
        if row is not None:
            yield row
