"""What do 100 queries cost, against the least Spark can do: one aggregation of the same files into slices?"""

from __future__ import annotations

from benchmarks import native, programs
from benchmarks.measure import Claim, Report, measure
from benchmarks.settings import Settings
from benchmarks.weft_side import run_program

QUESTION = (
    "100 sliding-window queries, 100 keys, answers to Parquet, against one batch aggregation into 1 s slices"
)
BOUND = 6


def ask(settings: Settings) -> Report:
    data, files = settings.data(keys=100)
    program = programs.program(programs.draw(100), files)
    plain = measure(
        "Spark batch into slices, noop",
        data.rows,
        lambda: native.aggregate_slices(settings.spark, files),
        warm=settings.warm,
        repeat=settings.repeat,
    )
    woven = measure(
        "weft, 100 queries",
        data.rows,
        lambda: run_program(settings.spark, program),
        warm=settings.warm,
        repeat=settings.repeat,
        note=f"batches of {data.rows_per_file:,} rows",
    )
    claim = Claim(
        "CPU of 100 queries / CPU of the plain aggregation", woven.cpu / plain.cpu, BOUND, at_most=True
    )
    return Report(QUESTION, (plain, woven), (claim,))
