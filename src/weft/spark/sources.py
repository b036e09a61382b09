"""A declared stream -> a streaming DataFrame of its typed columns.

    source ─► payload parsed ─► declared columns, typed ─► computed columns ─► those asked for

A record that does not parse is a row whose columns are null and whose `_weft_corrupt` holds the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from weft.errors import QueryError, RunError, nearest
from weft.lang.statements import ColumnDef, CreateStream, CreateTable
from weft.plan.failures import safe
from weft.plan.nodes import Stream
from weft.spark.complaints import SPARK_ERRORS, complaint
from weft.spark.generator import open_generator
from weft.spark.sql import CORRUPT, quoted, text

PARSED = ("json", "csv")  # file formats and payloads whose records may not parse
FILES = ("parquet", "orc", "json", "csv", "xml", "avro", "text")
Declared = CreateStream | CreateTable
_KAFKA = ("key", "topic", "partition", "offset", "timestamp", "timestamptype", "headers")


def open_stream(spark: SparkSession, stream: Stream, columns: Sequence[str]) -> DataFrame:
    """The rows of `stream` as they come: `columns`, `_weft_corrupt`, and what came along with them.

    Of json and csv every declared column is read, so that whether a row is valid does not depend on which
    columns the queries of the day use.
    """
    declared = stream.statement
    try:
        return shaped(_raw(spark, declared), stream, columns)
    except SPARK_ERRORS as error:
        raise unreadable(declared, error) from error


def unreadable(declared: CreateStream, error: Exception) -> RunError:
    """Spark's complaint about a source, as ours."""
    return RunError(
        "source-unreadable",
        f"stream `{declared.name}` cannot be read from {declared.format}: {complaint(error)}",
        at=declared.place,
        help="check the format, its options, and that its connector is on Spark's class path",
    )


def _raw(spark: SparkSession, declared: CreateStream) -> DataFrame:
    if declared.format == "generator":
        return open_generator(spark, declared)
    reader = spark.readStream.options(**source_options(declared))
    if declared.format == "table":
        return reader.table(table_name(declared))
    if declared.format in FILES and declared.format != "text":
        reader = reader.schema(file_schema(declared))
    return reader.format(declared.format).load()


def source_options(declared: Declared) -> dict[str, str]:
    """The options as the source gets them: ours taken out, what weft relies on put in."""
    given = {key: value for key, value in declared.options if not key.lower().startswith("value.")}
    if declared.format == "table":
        given.pop("name", None)
    if declared.format in PARSED:
        given |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    return given


def table_name(declared: Declared) -> str:
    """The table of Spark's catalog that is read."""
    name = dict(declared.options).get("name")
    if name is None:
        raise QueryError(
            "option-missing",
            f"`{declared.name}` does not say which table it reads",
            at=declared.place,
            help="FROM table OPTIONS ('name' = 'catalog.schema.table')",
        )
    return name


def file_schema(declared: Declared) -> str:
    """The schema of the files: the declared columns that are not computed."""
    fields = [f"{quoted(column.name)} {column.type}" for column in base_columns(declared)]
    return ", ".join([*fields, f"{CORRUPT} STRING"] if declared.format in PARSED else fields)


def shaped(raw: DataFrame, stream: Stream, columns: Sequence[str]) -> DataFrame:
    """What a source gives -> the declared columns that are needed, typed, and `_weft_corrupt`."""
    declared = stream.statement
    needed = _needed(declared, columns)
    base = [column for column in base_columns(declared) if declared.format in PARSED or column.name in needed]
    rows = _typed(raw, declared, base)
    types = {column.name: column.type for column in stream.columns}
    for column in declared.columns:
        if column.expr is not None and column.name in needed:
            rows = rows.selectExpr("*", f"{safe(column.expr, types).sql} AS {quoted(column.name)}")
    kept = dict.fromkeys([*(column.name for column in base if declared.format in PARSED), *columns, CORRUPT])
    return rows.selectExpr(*map(quoted, kept))


def base_columns(declared: Declared) -> list[ColumnDef]:
    """The columns that are read from the source."""
    return [column for column in declared.columns if column.expr is None]


def _needed(declared: CreateStream, columns: Sequence[str]) -> set[str]:
    """`columns`, the event time, and all that they are computed from."""
    computed = {column.name: column.expr for column in declared.columns if column.expr is not None}
    needed: set[str] = set()
    wanted = {*columns, declared.time_column}
    while wanted:
        name = wanted.pop()
        needed.add(name)
        if name in computed:
            wanted |= {column.name for column in computed[name].tree.find_all(exp.Column)} - needed
    return needed


def _typed(raw: DataFrame, declared: CreateStream, base: Sequence[ColumnDef]) -> DataFrame:
    payload = {key.lower(): value for key, value in declared.options}.get("value.format", "").lower()
    if declared.format in PARSED:
        return raw
    if payload in ("", "text"):
        return cast_columns(raw, declared, base)
    if payload not in PARSED:
        raise QueryError(
            "payload-format",
            f"stream `{declared.name}`: `value.format` cannot be '{payload}'",
            at=declared.place,
            help="it is json, csv or text",
        )
    return _parsed(raw, declared, payload, base)


def cast_columns(raw: DataFrame, declared: Declared, base: Sequence[ColumnDef]) -> DataFrame:
    """The columns of these names as their declared types; a row with a value that cannot be is corrupt."""
    found = {field.name.lower(): (field.name, field.dataType.simpleString()) for field in raw.schema.fields}
    selected, broken = [], []
    for column in base:
        if column.name.lower() not in found:
            raise no_column(column, declared, [name for name, _ in found.values()])
        name, type_ = found[column.name.lower()]
        value = quoted(name)
        if type_ != column.type:
            value = f"try_cast({value} AS {column.type})"
            broken.append(f"({quoted(name)} IS NOT NULL AND {value} IS NULL)")
        selected.append(f"{value} AS {quoted(column.name)}")
    corrupt = (
        f"CASE WHEN {' OR '.join(broken)} THEN to_json(struct(*)) END" if broken else "CAST(NULL AS STRING)"
    )
    return raw.selectExpr(*selected, f"{corrupt} AS {CORRUPT}")


def _parsed(raw: DataFrame, declared: CreateStream, payload: str, base: Sequence[ColumnDef]) -> DataFrame:
    """The columns out of `value`; those that Kafka gives beside it are taken from there."""
    beside = {name.lower() for name in raw.columns} & set(_KAFKA)
    fields = [column for column in base_columns(declared) if column.name.lower() not in beside]
    schema = ", ".join([*(f"{quoted(column.name)} {column.type}" for column in fields), f"{CORRUPT} STRING"])
    options = _payload_options(declared) | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    parse = f"from_{payload}(CAST(value AS STRING), {text(schema)}, map({_pairs(options)}))"
    taken = [f"CAST({c.name} AS {c.type}) AS {quoted(c.name)}" for c in base if c.name.lower() in beside]
    wanted = [f"_weft_value.{quoted(c.name)}" for c in base if c.name.lower() not in beside]
    return raw.selectExpr("*", f"{parse} AS _weft_value").selectExpr(
        *taken, *wanted, f"_weft_value.{CORRUPT}"
    )


def _payload_options(declared: CreateStream) -> dict[str, str]:
    given = {key[6:]: value for key, value in declared.options if key.lower().startswith("value.")}
    return {key: value for key, value in given.items() if key.lower() != "format"}


def _pairs(options: Mapping[str, str]) -> str:
    return ", ".join(text(part) for pair in options.items() for part in pair)


def no_column(column: ColumnDef, declared: Declared, found: Sequence[str]) -> QueryError:
    return QueryError(
        "no-such-source-column",
        f"the {declared.format} source of `{declared.name}` has no column `{column.name}`",
        at=column.place or declared.place,
        because=nearest(column.name, found),
        help=f"it has {', '.join(found)}",
    )
