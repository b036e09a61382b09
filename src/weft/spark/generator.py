"""The built-in source: made-up rows, the same ones every time, out of Spark's own counting source.

    n = 0, 1, 2, ... ─► hash(n, seed, column) ─► a value of the column

A row depends on its number, the seed and the start alone, so a batch that is read again is the same batch.
The start is kept in the checkpoint: `'start' = 'now'` means the moment of the first run.
"""

from __future__ import annotations

import time

from pyspark.sql import DataFrame, SparkSession

from weft.lang.generatoroptions import Generator, generator
from weft.lang.statements import CreateStream
from weft.times import Instant

_VENUES = ("XNYS", "XNAS", "ARCX", "BATS", "IEXG")
_SMALL_BATCH = 50_000


def open_generator(spark: SparkSession, declared: CreateStream) -> DataFrame:
    """The generated rows as a stream."""
    made = generator(declared)
    reader = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", made.rows_per_batch)
        .option("startTimestamp", _start(made) // 1000)
        .option("advanceMillisPerBatch", made.milliseconds_per_batch)
    )
    if made.rows_per_batch <= _SMALL_BATCH:
        reader = reader.option("numPartitions", 1)
    return generated(reader.load(), made)


def generated(counted: DataFrame, made: Generator) -> DataFrame:
    """Rows `timestamp, value` -> made-up trades; `timestamp` is the start of the batch that `value` is in."""
    rows = counted if made.rows is None else counted.where(f"value < {made.rows}")
    numbered = rows.selectExpr(
        "timestamp",
        "value",
        f"CAST({_uniform(made, 1)} * {_uniform(made, 2)} * {made.symbols} AS BIGINT) AS s",
        f"{_uniform(made, 3)} AS size",
    )
    base = f"(8 * exp(4 * {_uniform(made, 4, 's')}))"
    drift = f"(1 + 0.05 * sin(value / 40000D + s) + 0.004 * ({_uniform(made, 5)} - 0.5))"
    return numbered.selectExpr(
        f"{_ticker('s')} AS symbol",
        f"round({base} * {drift}, 2) AS price",
        f"{_quantity(made)} AS qty",
        f"{_words(_VENUES)}[CAST(5 * {_uniform(made, 7)} * {_uniform(made, 8)} AS INT)] AS venue",
        f"IF({_uniform(made, 9)} < 0.5, 'buy', 'sell') AS side",
        f"{_event_time(made)} AS ts",
    )


def _event_time(made: Generator) -> str:
    within = f"pmod(value, {made.rows_per_batch}L) * 1000000L div {made.rows_per_second}L"
    early = f"CAST({_uniform(made, 10)} * {made.disorder + 1} AS BIGINT)" if made.disorder else "0L"
    return f"timestamp_micros(unix_micros(timestamp) + {within} - {early})"


def _quantity(made: Generator) -> str:
    """Mostly round lots, a third odd lots, few large ones."""
    even = f"(1 + CAST({_uniform(made, 6)} * 9 AS BIGINT)) * 100"
    odd = f"10 + CAST({_uniform(made, 6)} * 90 AS BIGINT)"
    large = f"1000 + CAST({_uniform(made, 6)} * 1000 AS BIGINT)"
    return f"CASE WHEN size < 0.6 THEN {even} WHEN size < 0.9 THEN {odd} ELSE {large} END"


def _ticker(number: str) -> str:
    """Three letters and, past the 17,576 that there are, a number: a different text for every number."""
    mixed = f"pmod({number} * 7919 + 4159, 17576)"
    letters = ", ".join(f"char(65 + {mixed} div {26**place} % 26)" for place in (2, 1, 0))
    return f"concat({letters}, IF({number} < 17576, '', CAST({number} div 17576 AS STRING)))"


def _uniform(made: Generator, column: int, of: str = "value") -> str:
    """A number in [0, 1) that depends on the row and the column alone."""
    return f"(shiftrightunsigned(xxhash64({of}, {made.seed}L, {column}), 11) / 9007199254740992D)"


def _words(words: tuple[str, ...]) -> str:
    return f"array({', '.join(repr(word) for word in words)})"


def _start(made: Generator) -> Instant:
    return time.time_ns() // 1000 if made.start is None else made.start
