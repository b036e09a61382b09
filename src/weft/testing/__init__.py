"""Tests of programs: given rows, expected answers, compared as weft's own tests are.

feed trades                        one batch, a row a line
A 10 10:00:01
drain                              answer every window that holds a row
rows vwap                          what has been answered since the last `rows vwap`
10:00:00 10:00:10 A 10.0
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import WeftError
from weft.testing.cases import Case, read_cases
from weft.testing.harness import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one case; `problem` is empty when it holds."""

    name: str
    problem: str = ""


def run_cases(program: str, cases: Path, spark: SparkSession) -> list[Outcome]:
    """Run every case of a file on a program, each in a home of its own."""
    return [_run(case, spark) for case in read_cases(cases, program)]


def _run(case: Case, spark: SparkSession) -> Outcome:
    from weft.spark.replay import Replay  # noqa: PLC0415  imports pyspark

    with tempfile.TemporaryDirectory(prefix="weft-test-") as directory:
        replay = Replay(spark, Path(directory) / "home")
        try:
            check(case, replay)
        except (AssertionError, WeftError) as problem:
            return Outcome(case.name, str(problem))
        finally:
            replay.stop()
    return Outcome(case.name)
