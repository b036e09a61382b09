"""Where the cells of a program are held: in the driver, on executors, or in the one until it is too much."""

from __future__ import annotations

import logging
import time
from contextlib import suppress

from pyspark.sql import SparkSession

from weft.engine.errands import Crew
from weft.engine.placement import AUTO, DRIVER, EXECUTORS, Auto, Limits, Stepped
from weft.engine.runtime import Runtime
from weft.errors import WeftError
from weft.spark.executors import SparkCrew

_log = logging.getLogger("weft")


class Placement:
    """What was asked for, and what came of it. With `buckets` None there is one for each task at a time."""

    def __init__(
        self, spark: SparkSession, asked: str, buckets: int | None, limits: Limits | None = None
    ) -> None:
        self._spark, self._asked, self._buckets = spark, asked, buckets
        self._auto = Auto(limits)
        self._crew: SparkCrew | None = None
        self._home: str | None = None
        self._why = ""

    def first(self, left: int) -> Crew | None:
        """Who holds the cells at the start, where the last run has left so many."""
        if self._asked == EXECUTORS:
            return self._hire()
        if self._asked == AUTO and self._auto.starts_there(left):
            return self._try_to_hire(f"{left:,} cells at the last stop")
        return None

    def opened(self, home: str) -> None:
        """The home is there: whoever holds the cells must see it."""
        self._home = home
        if self._crew is not None:
            self._crew.check_home(home)

    def review(self, runtime: Runtime) -> None:
        """After a step: move the cells if there is a reason, and the executors can take them."""
        why = self._auto.judge(self._stepped(runtime)) if self._asked == AUTO else None
        if why is None:
            return
        if not self._auto.there:
            self._why = why
            runtime.place(None)
        elif (crew := self._try_to_hire(why)) is not None:
            runtime.place(crew)
        _log.info("cells: %s", self.show(runtime))

    def _try_to_hire(self, why: str) -> Crew | None:
        """Executors that are able to hold the cells; if they are not, the driver holds them from now on."""
        self._why = why
        try:
            return self._hire()
        except WeftError as error:
            self._asked, self._why = DRIVER, f"{why}, but {error.what}"
            _log.warning("%s; the cells stay in the driver", error.what)
            return None

    def show(self, runtime: Runtime) -> str:
        """Where the cells are, and why if `auto` chose it."""
        where = f"{EXECUTORS}, {runtime.buckets} buckets" if runtime.buckets else DRIVER
        return f"{where}: {self._why}" if self._why else where

    def close(self) -> None:
        if self._crew is not None:
            with suppress(Exception):  # the session may have been stopped by now
                self._crew.close()

    def _stepped(self, runtime: Runtime) -> Stepped:
        # Asking Spark takes time, and a step this short cannot be faster elsewhere.
        short = self._auto.there or runtime.step_seconds < self._auto.limits.launch
        return Stepped(
            at=time.monotonic(),
            seconds=runtime.step_seconds,
            rows=runtime.tally.total("rows"),
            cells=runtime.cells,
            free=0 if short else self._free_cores(),
        )

    def _free_cores(self) -> int:
        """Cores of the executors without a task at this moment."""
        context = self._spark.sparkContext
        tracker = context.statusTracker()
        stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
        tasks = sum(stage.numActiveTasks for stage in stages if stage is not None)
        return max(0, context.defaultParallelism - tasks)

    def _hire(self) -> SparkCrew:
        if self._crew is None:
            crew = SparkCrew(self._spark, self._buckets)
            if self._home is not None:
                crew.check_home(self._home)
            self._crew = crew
        return self._crew
