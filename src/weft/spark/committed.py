"""The rows a stream has taken in, read once more: exactly those of its committed batches.

checkpoint/offsets/<batch>     how far the source had got: the number of an entry, or of a row
checkpoint/sources/0/<entry>   file sources: which files
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from weft.errors import RunError
from weft.lang.generatoroptions import generator
from weft.log.durable import entries
from weft.log.paths import AnyPath
from weft.plan.nodes import Stream
from weft.spark.generator import generated
from weft.spark.sources import FILES, file_schema, shaped, source_options
from weft.spark.sql import CORRUPT, quoted

_CLEANED = ("archive", "delete")


def read_committed(
    spark: SparkSession, stream: Stream, checkpoint: AnyPath, last_batch: int
) -> DataFrame | None:
    """The declared columns of every row with an event time in batches up to `last_batch`.

    None where the source cannot be read again.
    """
    raw = _raw(spark, stream, checkpoint, last_batch)
    if raw is None:
        return None
    columns = [column.name for column in stream.columns]
    rows = shaped(raw, stream, columns)
    sound = f"{CORRUPT} IS NULL AND {quoted(stream.statement.time_column)} IS NOT NULL"
    return rows.where(sound).selectExpr(*map(quoted, columns))


def _raw(spark: SparkSession, stream: Stream, checkpoint: AnyPath, last_batch: int) -> DataFrame | None:
    declared = stream.statement
    if declared.format == "generator":
        return _generated(spark, stream, checkpoint, last_batch)
    if declared.format not in FILES or _option(stream, "cleansource").lower() in _CLEANED:
        return None
    paths = list(_paths(checkpoint, _offset(checkpoint, last_batch)["logOffset"] if last_batch >= 0 else -1))
    options = {key: value for key, value in source_options(declared).items() if key.lower() != "path"}
    base = _option(stream, "path")
    if not set("*?[{") & set(base):
        options["basePath"] = base
    reader = spark.read.options(**options).format(declared.format)
    if declared.format != "text":
        reader = reader.schema(file_schema(declared))
    return reader.load(paths) if paths else spark.createDataFrame([], _schema(stream))


def _schema(stream: Stream) -> str:
    return "value STRING" if stream.statement.format == "text" else file_schema(stream.statement)


def _paths(checkpoint: AnyPath, last: int) -> Iterator[str]:
    """The files of the entries up to `last`; a compact entry repeats those before it."""
    seen = set()
    logs = checkpoint / "sources" / "0"
    for name in filter(lambda name: name[:1].isdigit(), entries(logs)):
        for line in (logs / name).read_text().splitlines()[1:]:
            entry = json.loads(line)
            if entry["batchId"] <= last and entry["path"] not in seen:
                seen.add(entry["path"])
                yield unquote(entry["path"])


def _generated(spark: SparkSession, stream: Stream, checkpoint: AnyPath, last_batch: int) -> DataFrame:
    made = generator(stream.statement)
    offset = _offset(checkpoint, last_batch) if last_batch >= 0 else {"offset": 0, "timestamp": 0}
    advance = made.milliseconds_per_batch
    start = offset["timestamp"] - (last_batch + 1) * advance
    batch = f"id div {made.rows_per_batch}L"
    counted = spark.range(offset["offset"]).selectExpr(
        f"timestamp_millis({start}L + {batch} * {advance}L) AS timestamp", "id AS value"
    )
    return generated(counted, made)


def _offset(checkpoint: AnyPath, batch: int) -> dict[str, Any]:
    """Where the one source stood after the batch: the last line of its offset file."""
    path = checkpoint / "offsets" / str(batch)
    try:
        found = json.loads(path.read_text().splitlines()[-1])
    except (OSError, ValueError, IndexError) as error:
        raise RunError(
            "checkpoint-unreadable",
            f"the checkpoint does not tell how far batch {batch} had read",
            because=f"{path}: {error}",
            help="Spark keeps the offsets of the last hundred batches; restore the checkpoint as a whole",
        ) from error
    assert isinstance(found, dict)
    return found


def _option(stream: Stream, name: str) -> str:
    return next((value for key, value in stream.statement.options if key.lower() == name), "")
