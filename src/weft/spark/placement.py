"""Where the cells of a program are held: in the driver, on executors, or in the one until it is too much."""

from __future__ import annotations

import logging
from contextlib import suppress

from pyspark.sql import SparkSession

from weft.engine.errands import Crew
from weft.engine.placement import AUTO, DRIVER, EXECUTORS
from weft.engine.runtime import Runtime
from weft.errors import WeftError
from weft.spark.executors import SparkCrew

MOST_CELLS = 20_000_000  # that the driver holds before `auto` moves them


class Placement:
    """What was asked for, and what came of it. With `buckets` None there is one for each task at a time."""

    def __init__(self, spark: SparkSession, asked: str, buckets: int | None, home: str) -> None:
        self._spark, self._asked, self._home = spark, asked, home
        self._buckets = buckets or max(1, spark.sparkContext.defaultParallelism)
        self._crew: SparkCrew | None = None

    def first(self) -> Crew | None:
        """Who holds the cells at the start."""
        return self._hire() if self._asked == EXECUTORS else None

    def review(self, runtime: Runtime) -> None:
        """Move the cells if there have come to be too many, and the executors can take them."""
        if self._asked != AUTO or runtime.crew is not None or runtime.cells <= MOST_CELLS:
            return
        try:
            crew = self._hire()
        except WeftError as error:
            self._asked = DRIVER
            logging.getLogger("weft").warning("%s; the cells stay in the driver", error.what)
        else:
            runtime.place(crew)

    def close(self) -> None:
        if self._crew is not None:
            with suppress(Exception):  # the session may have been stopped by now
                self._crew.close()

    def _hire(self) -> SparkCrew:
        if self._crew is None:
            self._crew = SparkCrew(self._spark, self._buckets, self._home)
        return self._crew
