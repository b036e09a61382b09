"""A program being run: its home, the runtime on it, its sinks, and Spark carrying it all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from weft.collecting import may_go, stays, uncollected
from weft.engine.account import Account
from weft.engine.delivery import Delivery
from weft.engine.epochs import Texts
from weft.engine.knowledge import decided_by
from weft.engine.placement import AUTO
from weft.engine.replanning import Replanning
from weft.engine.report import report
from weft.engine.runtime import Runtime
from weft.engine.status import STATUS_FILE, Status
from weft.lang.statements import Statement, Unread
from weft.log.catalog import Catalog
from weft.log.durable import show
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import NOTHING, bind_program
from weft.plan.nodes import Program, Query
from weft.plan.problems import raise_all
from weft.share.model.measured import Measured
from weft.share.nodes import SharedPlan
from weft.share.relations.decided import Decided
from weft.spark.analyze import analyze, check_sources_read
from weft.spark.checkpoint import place_checkpoints
from weft.spark.finish import finish
from weft.spark.outlets import Outlets, check_sinks
from weft.spark.placement import Placement
from weft.spark.refreshing import Refreshing
from weft.spark.runner import Runner
from weft.spark.session import check_session

Statements = Sequence[Statement | Unread]

REPLAN = "spark.weft.replan.enabled"


class Running:
    """A run of a program on its home, from `start` to `stop`."""

    @uncollected()
    def __init__(
        self,
        spark: SparkSession,
        home: AnyPath,
        statements: Statements,
        bound: Program | None = None,
        *,
        trigger: str | None,
        once: bool,
        drain: bool,
        placement: str = AUTO,
        buckets: int | None = None,
        checkpoint: AnyPath | None = None,
    ) -> None:
        check_session(spark)
        self.spark = spark
        self._reporting = threading.Lock()  # two loops report, and a change opens sinks
        self.program = bind_with_spark(spark, statements, bound)
        raise_all(check_sources_read(spark, self.program))  # before there is a home
        self.placement = Placement(spark, placement, buckets)
        self._replanning = Replanning() if spark.conf.get(REPLAN, "true") == "true" else None
        crew = self.placement.first(_left(home))  # likewise: the executors may be unable
        self.home = Home.open(home)
        try:
            place_checkpoints(spark, self.home, checkpoint)
            texts = Texts()
            check_sinks(self.home, Catalog(self.home), self.program, texts)
            self.placement.opened(str(self.home.path))
            self.runtime = Runtime(self.home, self.program, lambda jobs: finish(spark, jobs), crew, texts)
            self.account = Account(self.runtime)
            self.delivery = Delivery(self.home, self.runtime.answers)
            self.outlets = Outlets(spark, self.runtime, self.delivery)
            self.outlets.open_all()
            self.refreshing = Refreshing(spark, self.runtime)
            self.refreshing.begin(self.program)
        except BaseException:
            self.home.close()
            raise
        self.runner = Runner(
            spark,
            self.runtime,
            self.delivery,
            self.refreshing,
            self._report,
            lambda: self.placement.review(self.runtime),
            self._replan,
            trigger=trigger,
            once=once,
            drain=drain,
        )
        stays()

    def start(self) -> None:
        self.runner.start()

    def bind(self, statements: Statements) -> Program:
        """The program after these statements, with all types that Spark tells."""
        return bind_with_spark(self.spark, statements, onto=self.program)

    def change(self, program: Program) -> None:
        """Put another program in force at the next batch."""
        check_sinks(self.home, self.runtime.catalog, program, self.runtime.texts)
        self.runtime.declare(program)
        self.refreshing.begin(program)  # before a row can look one of them up
        self.runtime.change(program)
        self.program = program
        may_go()
        stays()
        with self._reporting:
            self.outlets.open_running()
            self.outlets.end_gone(self.runtime.step_number)
        self.runner.renew()

    def refresh(self, table: str) -> bool:
        """Read a table again now; False: nothing has changed."""
        return self.refreshing.refresh(table)

    def wait(self, timeout: float | None) -> bool:
        return self.runner.wait(timeout)

    def stop(self) -> None:
        self.runner.stop()
        self.placement.close()
        self.home.close()
        may_go()

    def status(self) -> Status:
        placed = self.placement.show(self.runtime)
        return report(
            self.runtime,
            self.delivery.status(),
            self.runner.pace(),
            placed,
            self.refreshing.errors,
            self.runner.state(),
        )

    def measured(self) -> Measured:
        """What it has counted and used until now."""
        with self._reporting:
            self.account.look()
            return self.account.measured()

    def _replan(self) -> None:
        """Is the plan still what the queries need, and are they treated as they should be?"""
        self.runtime.reweave()
        if self._replanning is not None:
            self._replanning.review(self.runtime, self.measured)

    @property
    def plan(self) -> SharedPlan:
        """Of the queries in force."""
        with self.runtime.lock:
            return self.runtime.woven

    @property
    def decided(self) -> Decided:
        """What was decided of its relations."""
        with self.runtime.lock:
            return decided_by(self.runtime)

    def _report(self) -> None:
        """Once a second: open what has come up, let go of what no sink needs, tell how it stands."""
        with self._reporting:
            self.outlets.open_dead(self.runtime.dead_keys())
            self.runtime.release(self.delivery.least_position())
            self.account.look()
            status = replace(self.status(), measured=self.account.measured().to_json())
            show(self.home.path / STATUS_FILE, status.to_json())


def _left(home: AnyPath) -> int:
    """How many cells the last run had when it last reported."""
    try:
        return Status.from_json((home / STATUS_FILE).read_text()).cells
    except (OSError, ValueError, TypeError, KeyError):  # none, or of another version
        return 0


def bind_with_spark(
    spark: SparkSession, statements: Statements, bound: Program | None = None, onto: Program = NOTHING
) -> Program:
    """The program bound with Spark's own analyzer where only Spark can tell a type; all errors at once.

    `bound` is what binding the statements without Spark gave, where that has been done. `onto` is a program
    that was bound and optimized before: Spark is asked about what is new.
    """
    program = bound or bind_program(statements, onto=onto)
    types = analyze(spark, replace(program, queries=_new(program, onto)), onto.streams)
    program = bind_program(statements, types, onto) if types else program
    optimized = optimize_program(replace(program, queries=_new(program, onto)))
    made = {query.name: query for query in optimized.queries}
    return replace(program, queries=tuple(made.get(query.name, query) for query in program.queries))


def _new(program: Program, before: Program) -> tuple[Query, ...]:
    """The queries that were not there before, as the very objects."""
    there = set(map(id, before.queries))
    return tuple(query for query in program.queries if id(query) not in there)
