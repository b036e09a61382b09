"""The same work by weft: a program over the files, from an empty home to its last answer."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import weft


def run_program(spark: SparkSession, text: str) -> None:
    """Run the program once over all its input in a home of its own, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as home:
        session = weft.Session(spark=spark, home=Path(home) / "home")
        session.sql(text)
        session.start(once=True)
        session.wait()
        session.stop()
