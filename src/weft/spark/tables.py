"""A declared table -> its rows as they are now, read by Spark in a batch.

    source ─► declared columns, typed ─► an Arrow table

A stream sends a row that cannot be read to its dead letters; a table that has one is refused as a whole, and
the version before stays in force: rows would look for it in vain.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft.errors import RunError
from weft.lang.statements import CreateTable
from weft.plan.nodes import Table
from weft.spark.complaints import SPARK_ERRORS, complaint
from weft.spark.sources import (
    PARSED,
    base_columns,
    cast_columns,
    file_schema,
    no_column,
    source_options,
    table_name,
)
from weft.spark.sql import CORRUPT, quoted


def read_table(spark: SparkSession, table: Table) -> pa.Table:
    """All rows of the table, its columns as they are declared."""
    try:
        found = open_table(spark, table).toArrow()
    except SPARK_ERRORS as error:
        raise unreadable(table.statement, error) from error
    _refuse_corrupt(table.statement, found)
    return found.drop_columns(CORRUPT)


def open_table(spark: SparkSession, table: Table) -> DataFrame:
    """The rows with the columns of the table, and `_weft_corrupt`; none of them is read yet."""
    declared = table.statement
    try:
        rows = _typed(spark, declared)
        return rows.selectExpr(*(quoted(column.name) for column in table.columns), CORRUPT)
    except SPARK_ERRORS as error:
        raise unreadable(declared, error) from error


def unreadable(declared: CreateTable, error: Exception) -> RunError:
    """Spark's complaint about the source of a table, as ours."""
    return RunError(
        "source-unreadable",
        f"table `{declared.name}` cannot be read from {declared.format}: {complaint(error)}",
        at=declared.place,
        help="check the format, its options, and that its connector is on Spark's class path",
    )


def _typed(spark: SparkSession, declared: CreateTable) -> DataFrame:
    reader = spark.read.options(**source_options(declared))
    if declared.format == "table":
        return cast_columns(reader.table(table_name(declared)), declared, base_columns(declared))
    if declared.format not in PARSED:
        return cast_columns(reader.format(declared.format).load(), declared, base_columns(declared))
    return reader.schema(_schema(spark, declared)).format(declared.format).load()


def _schema(spark: SparkSession, declared: CreateTable) -> str:
    """The columns of a text file: of csv with a header as they stand there, whichever are declared."""
    given = {key.lower(): value.lower() for key, value in declared.options}
    if declared.format != "csv" or given.get("header") != "true":
        return file_schema(declared)
    header = spark.read.options(**dict(declared.options)).format("csv").load().columns
    types = {column.name.lower(): column for column in base_columns(declared)}
    for name, column in types.items():
        if name not in (found.lower() for found in header):
            raise no_column(column, declared, header)
    fields = [
        f"{quoted(types[found.lower()].name)} {types[found.lower()].type}"
        if found.lower() in types
        else f"{quoted(found)} STRING"
        for found in header
    ]
    return ", ".join([*fields, f"{CORRUPT} STRING"])


def _refuse_corrupt(declared: CreateTable, rows: pa.Table) -> None:
    broken = rows.column(CORRUPT).drop_null()
    if len(broken):
        raise RunError(
            "table-corrupt",
            f"table `{declared.name}` has rows that are not as declared, {len(broken)} of them: the first is "
            f"{broken[0].as_py()}",
            at=declared.place,
            help="mend its source, or declare the columns as they are there",
        )
