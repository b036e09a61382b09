"""A program running on Spark: one streaming query per stream, beside them the answer loop and delivery.

Spark's thread, per stream   batch ─► level 1 ─► Runtime.commit
table thread                 source ─► Runtime.refresh
plan thread                  what was counted ─► Runtime.reweave, Runtime.switch
answer thread                          Runtime.step ─► answer log
delivery thread                                          ─► sinks
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from weft.engine.delivery import Delivery
from weft.engine.report import Pace
from weft.engine.runtime import Runtime
from weft.engine.strides import Strides
from weft.errors import RunError, WeftError
from weft.share.model.cost import Level
from weft.spark.ingest import Ingest
from weft.spark.refreshing import Refreshing

POLL = 0.2  # seconds between looks at the clock, where nothing else wakes a loop


class Runner:
    """A running program. `start`, then `wait` or `stop`."""

    def __init__(
        self,
        spark: SparkSession,
        runtime: Runtime,
        delivery: Delivery,
        refreshing: Refreshing,
        report: Callable[[], None],
        review: Callable[[], None],
        replan: Callable[[], None],
        *,
        trigger: str | None = None,
        once: bool = False,
        drain: bool = False,
    ) -> None:
        self.spark, self.runtime, self.delivery, self.report = spark, runtime, delivery, report
        self._refreshing = refreshing
        self._review = review  # called between steps
        self._replan = replan  # and beside them: with thousands of queries it may take seconds
        self.trigger, self.once, self.drain = trigger, once, drain
        self._strides = Strides(once)
        self.ingests: dict[str, Ingest] = {}
        self.error: WeftError | None = None
        self._stopping, self._finished = threading.Event(), threading.Event()
        self._answered = threading.Event()  # since delivery last looked
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        try:
            self.renew()
        except BaseException:
            self._stop_streams()
            self._finished.set()
            raise
        loops = {
            "answer": self._answer,
            "delivery": self._deliver,
            "report": self._report,
            "tables": self._refresh,
            "plan": self._plan,
        }
        for name, loop in loops.items():
            thread = threading.Thread(target=self._guarded, args=(loop,), name=f"weft-{name}", daemon=True)
            self._threads.append(thread)
        for thread in self._threads:
            thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """True when the program has ended; raises what ended it."""
        done = self._finished.wait(timeout)
        if done and self.error is not None:
            raise self.error
        return done

    def stop(self) -> None:
        """End after the batches under way; what is durable is answered and delivered."""
        self._stopping.set()
        self._answered.set()
        with self.runtime.news:
            self.runtime.news.notify_all()
        self._finished.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def renew(self) -> None:
        """Read what the program in force needs: start streams, and stop or start again those that differ."""
        plans = {plan.stream.name: plan for plan in self.runtime.plan.streams}
        for name in self.ingests.keys() - plans.keys():
            self.ingests[name].stop()
        self.ingests = {
            name: self.ingests.get(name) or Ingest(self.spark, self.runtime, plan.stream)
            for name, plan in plans.items()
        }
        for name, plan in plans.items():
            ingest = self.ingests[name]
            if ingest.halted or not set(plan.columns) <= set(ingest.columns):
                ingest.stop()
                ingest.start(self.trigger, self.once)

    def state(self) -> str:
        """Of the run as a whole, whether or not a stream of it is just being started again."""
        if self._stopping.is_set():
            return "stopped"
        return "running" if self.ingests else "idle"

    def pace(self) -> dict[str, Pace]:
        return {name: ingest.pace() for name, ingest in self.ingests.items()}

    # -- the loops

    def _guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except WeftError as error:
            self._fail(error)
        except Exception as error:
            self._fail(RunError("run-failed", f"the program stopped: {error}", help="see the log above"))
            raise
        finally:
            if loop == self._deliver:
                self._finished.set()

    def _fail(self, error: WeftError) -> None:
        self.error = self.error or error
        self._stopping.set()

    def _answer(self) -> None:
        """Step when a batch is in and it is time; at the end answer what is left."""
        try:
            while not self._stopping.is_set() and not self._ended():
                with self.runtime.news:
                    self.runtime.news.wait(POLL)
                while self._is_time() and self.runtime.step():
                    self._strides.stepped(self.runtime.step_seconds)
                    self._answered.set()
                    self._review()
                self._idle()
            self._stop_streams()
            self._last_steps()
        finally:
            self._stop_streams()
            self._stopping.set()

    def _is_time(self) -> bool:
        return self._strides.due(self.runtime.latest_times(), self.runtime.waiting())

    def _stop_streams(self) -> None:
        for ingest in self.ingests.values():
            ingest.stop()

    def _last_steps(self) -> None:
        if self.error is None:
            while self.runtime.step():
                pass
            if self.drain and self.once:
                self.runtime.step(why="drain", drain=True)

    def _ended(self) -> bool:
        """Have all streams ended? A stream that failed ends the program with its error."""
        ended = True
        for name, ingest in self.ingests.items():
            query = ingest.query
            if query is None or query.isActive:
                ended = False
            elif ingest.halted:  # if no query reads it any more it has ended, else it is being started again
                ended = ended and self.runtime.terms(name).plan is None
            elif ingest.error is not None:
                raise ingest.error
            elif (failure := query.exception()) is not None:
                raise RunError(
                    "stream-failed",
                    f"stream `{name}` stopped: {_first_line(str(failure))}",
                    help="mend the source and run the program again; it goes on where it was",
                )
        return ended and self.once

    def _idle(self) -> None:
        """Move the watermark of streams that have been silent for longer than IDLE AFTER."""
        moved = {}
        for name, ingest in self.ingests.items():
            after = ingest.stream.statement.idle_after
            silent = int((time.time() - ingest.last_arrival) * 1_000_000)
            watermark = self.runtime.watermark(name)
            if after is not None and watermark is not None and silent >= after:
                moved[name] = watermark + silent
        if any(self.runtime.closes(name, at) for name, at in moved.items()):
            self.runtime.step(why="idle", watermarks=moved)

    def _deliver(self) -> None:
        while not self._stopping.is_set():
            self._answered.clear()
            with self.runtime.meter.during(Level.OUTPUT):
                self.delivery.run_once()
            self._answered.wait(POLL)
        for thread in self._threads:
            if thread.name == "weft-answer":
                thread.join()
        self.report()  # opens what the last steps have brought up, so that it is delivered as well
        with self.runtime.meter.during(Level.OUTPUT):
            self.delivery.run_once(flush=True)
        self.report()

    def _refresh(self) -> None:
        while not self._stopping.wait(POLL):
            self._refreshing.refresh_due()

    def _plan(self) -> None:
        while not self._stopping.wait(POLL):
            self._replan()

    def _report(self) -> None:
        """Once a second; less often where there is so much to tell that it takes a twentieth of the time."""
        while not self._stopping.is_set():
            began = time.monotonic()
            self.report()
            self._stopping.wait(max(1.0, 20 * (time.monotonic() - began)))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), text)
