"""The Python API: declare streams, add and drop queries, explain, start, read answers.

session = weft.Session(home="home")
session.sql("CREATE STREAM ...; CREATE QUERY ...")
session.start()
session.results("vwap").show()
"""

from __future__ import annotations

import html
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from weft import times
from weft.collecting import uncollected
from weft.engine.calibration import constants_of, keep, kept
from weft.engine.placement import AUTO, check_placement
from weft.engine.reported import reported
from weft.errors import Errors, QueryError, RunError, WeftError
from weft.lang.parse import read_program
from weft.lang.printer import print_statement
from weft.lang.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateTable,
    CreateView,
    DropQuery,
    DropTable,
    DropView,
    Explain,
    ShowQueries,
    ShowStreams,
    Statement,
    Unread,
)
from weft.log.paths import AnyPath, locate
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import NOTHING, bind_program
from weft.plan.nodes import Program
from weft.plan.tree import schema
from weft.share.build import build
from weft.share.explain import Explanation, explain_program
from weft.share.model.analyze import SAME
from weft.share.model.forecast import Basis
from weft.share.model.load import Loads, checked
from weft.share.nodes import SharedPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from weft.engine.status import Status
    from weft.share.model.constants import Constants
    from weft.share.model.measured import Apart, Measured
    from weft.spark.running import Running
    from weft.verify import Verification

Declaration = CreateStream | CreateQuery | CreateRelation | CreateView | CreateTable

_DROPPED: dict[type[DropQuery | DropView | DropTable], tuple[type[Declaration], ...]] = {
    DropQuery: (CreateQuery, CreateRelation),
    DropView: (CreateView,),
    DropTable: (CreateTable,),
}


class Session:
    """A program and, once started, its run. Nothing here imports Spark before it is needed."""

    def __init__(
        self,
        spark: SparkSession | None = None,
        home: str | AnyPath | None = None,
        *,
        checkpoint: str | AnyPath | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        placement: str = AUTO,
        buckets: int | None = None,
    ) -> None:
        """`home`: a directory, or a URL that fsspec knows; `checkpoint`: another for Spark's checkpoints.

        `placement`: where the cells are held, `driver`, `executors` (in `buckets`) or `auto`.
        """
        check_placement(placement, buckets)
        self._spark, self._own_spark = spark, spark is None
        self._placement, self._buckets = placement, buckets
        self._master, self._conf = master, dict(conf or {})
        self.home = locate(home) if home is not None else Path(tempfile.mkdtemp(prefix="weft-"))
        self._checkpoint = locate(checkpoint) if checkpoint is not None else None
        self._statements: list[Declaration] = []
        self._bound: Program | None = NOTHING  # before Spark has told types; None: it has
        self._optimized: Program | None = None  # made of it when it is first asked for
        self._running: Running | None = None

    # -- the program

    def sql(self, text: str, file: str = "<text>") -> list[str]:
        """Carry out statements: all of them, or, if one is wrong, none. Gives what SHOW and EXPLAIN say."""
        _check_text(text)
        with uncollected():
            read = read_program(text, file)
            program = self._bind(read)
        statements = [one for one in read if not isinstance(one, Unread)]  # all of them, or _bind had raised
        declared = self._declared(statements)
        if declared != self._statements and self._running is not None:
            self._running.change(program)
        self._statements = declared
        self._bound, self._optimized = (program, None) if self._running is None else (None, program)
        said = (self._say(statement) for statement in statements)
        return [text for text in said if text is not None]

    def _declared(self, statements: Iterable[Statement]) -> list[Declaration]:
        declared = list(self._statements)
        for statement in statements:
            match statement:
                case DropQuery() | DropView() | DropTable():
                    declared = _without(declared, statement)
                case CreateStream() | CreateQuery() | CreateRelation() | CreateView() | CreateTable():
                    declared.append(statement)
                case _:
                    pass
        return declared

    def _bind(self, statements: Sequence[Statement | Unread]) -> Program:
        """The program after these statements too."""
        if self._running is not None:
            return self._running.bind(statements)
        if self._bound is not None:
            return bind_program(statements, onto=self._bound)
        return bind_program((*self._statements, *statements))

    def _say(self, statement: Statement) -> str | None:
        match statement:
            case ShowStreams():
                return "\n".join(print_statement(stream.statement) for stream in self.program.streams)
            case ShowQueries():
                return self._show_queries()
            case Explain(name, analyze):
                return str(self.explain(name, analyze=analyze))
            case _:
                return None

    def _show_queries(self) -> str:
        if self._running is None:
            return "\n".join(f"{query.name}  not started" for query in self.program.queries)
        from weft.terminal.report import show_queries  # noqa: PLC0415  rich is only needed to show

        return show_queries(self.status())

    @property
    def program(self) -> Program:
        if self._optimized is None:
            assert self._bound is not None
            self._optimized = optimize_program(self._bound)
        return self._optimized

    @property
    def plan(self) -> SharedPlan:
        return build(self.program)

    def explain(
        self,
        name: str | None = None,
        format: str = "text",
        *,
        rate: float | None = None,
        groups: float | None = None,
        analyze: bool = False,
    ) -> Explanation:
        """The shared plan, or one query and what it shares, with what it costs; needs no Spark.

        It is the plan that runs or, in a home where the program has run, that it goes on with. `rate` (rows a
        second) and `groups` (of each feed with keys) say what the streams bring, instead of what a running
        program has counted or, before it runs, is assumed. `analyze`: what was measured beside what is
        predicted; the program must be running, in this session or, with the same home, elsewhere.
        """
        measured = self._measured(analyze)
        loads = (Loads() if measured is None else measured.loads()).given(*checked(rate, groups))
        basis = Basis(loads, constants_of(self.home))
        decided = None if self._running is None else self._running.decided
        told, plan = measured if analyze else None, self._in_force(basis)
        return explain_program(
            self.program, name, format, basis, told, decided, plan, self._only_spark, self._apart(analyze)
        )

    def _apart(self, analyze: bool) -> Apart:
        """How another process that is measured runs another program."""
        if not analyze or self._running is not None or not self._has_home():
            return SAME
        from weft.engine.resumed import apart  # noqa: PLC0415  Arrow is not needed before

        return apart(self.home, self.program)

    def _in_force(self, basis: Basis) -> SharedPlan | None:
        """The plan that runs or, in a home where the program has run, goes on; None: it has yet to begin."""
        if self._running is not None:
            return self._running.plan
        if not self._has_home():
            return None
        from weft.engine.resumed import plan_in  # noqa: PLC0415  Arrow is not needed before

        return plan_in(self.home, self.program, basis)

    def _has_home(self) -> bool:
        """Has a program run in it, or been calibrated for?"""
        return (self.home / "weft.json").exists()

    def _only_spark(self, plan: SharedPlan) -> Mapping[str, str]:
        """The relations that executors could not carry out, and why."""
        if not plan.related:
            return {}
        from weft.engine.relations.spreads import only_spark  # noqa: PLC0415  the kernels

        return only_spark(plan.related, {stream.name: stream for stream in self.program.streams})

    def _measured(self, wanted: bool) -> Measured | None:
        """What the run, here or in another process, has counted and used; if it is `wanted`, one must run."""
        if self._running is not None:
            return self._running.measured()
        try:
            return reported(self.home)
        except RunError:
            if wanted:
                raise
            return None

    def calibrate(self) -> Constants:
        """Measure what work takes on this machine, and keep it in the home for the costs in explain."""
        from weft.engine.calibrate import calibrate  # noqa: PLC0415  the kernels
        from weft.log.home import Home  # noqa: PLC0415  checksums and locks

        if not self._has_home():
            Home.open(self.home).close()
        constants = calibrate()
        keep(self.home, constants)
        return constants

    def check(self) -> Program:
        """The program bound with Spark's own analyzer, and its sources opened; raises all errors at once."""
        from weft.spark.analyze import check_sources  # noqa: PLC0415  imports pyspark
        from weft.spark.running import bind_with_spark  # noqa: PLC0415

        program = bind_with_spark(self.spark, self._statements)
        if errors := check_sources(self.spark, program):
            raise Errors(errors)
        return program

    # -- the run

    @property
    def spark(self) -> SparkSession:
        """The Spark session: the one given, or one made when it is first needed."""
        if self._spark is None:
            from weft.spark.session import build_session  # noqa: PLC0415  starts a JVM

            self._spark = build_session(self._master, self._conf)
        return self._spark

    def start(self, trigger: str | None = None, once: bool = False, drain: bool = False) -> Self:
        """Run the program; returns at once.

        `trigger`: a batch every so often, such as `1s`. `once`: what is there, then end; `drain`: the same,
        and answer all of it.
        """
        if self._running is not None:
            raise RunError("already-started", "this session is running", help="stop() it first")
        if not (self._bound or self.program).queries:
            raise QueryError("no-queries", "the program has no queries", help="add one with CREATE QUERY")
        every = _checked_trigger(trigger) if trigger is not None else None
        from weft.log.home import Home  # noqa: PLC0415  checksums and locks
        from weft.spark.running import Running  # noqa: PLC0415  imports pyspark

        Home.check(self.home)  # one that cannot be had is refused before a JVM is started
        constants = None if once or drain else self._measuring()
        self._running = Running(
            self.spark,
            self.home,
            self._statements,
            self._bound,
            trigger=every,
            once=once or drain,
            drain=drain,
            placement=self._placement,
            buckets=self._buckets,
            checkpoint=self._checkpoint,
        )
        self._bound, self._optimized = None, self._running.program
        self._running.start()
        if constants is not None:
            constants.add_done_callback(self._keep)
        return self

    def _measuring(self) -> Future[Constants] | None:
        """At the first start the machine is measured, while the JVM comes up; None: nothing is to be done."""
        if self._spark is not None or kept(self.home) is not None:
            return None
        from weft.engine.calibrate import calibrate  # noqa: PLC0415  the kernels

        pool = ThreadPoolExecutor(1, "weft-calibrate")
        constants = pool.submit(calibrate)
        pool.shutdown(wait=False)
        return constants

    def _keep(self, constants: Future[Constants]) -> None:
        """Those that could not be measured or written, for want of room or so, are measured another time."""
        with suppress(OSError, WeftError):
            keep(self.home, constants.result())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the program to end; True when it has. Raises what ended it, if anything did."""
        return self._run().wait(timeout)

    def stop(self) -> None:
        """End the run: batches under way are finished, answered and delivered."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def close(self) -> None:
        """Stop the run, and Spark if this session made it."""
        self.stop()
        if self._own_spark and self._spark is not None:
            self._spark.stop()
            self._spark = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refresh(self, table: str) -> bool:
        """Read a table again now, whenever it is due; False: nothing of it has changed.

        Rows that come after all that were taken in so far see what was read.
        """
        return self._run().refresh(table)

    def status(self) -> Status:
        """How the run stands."""
        return self._run().status()

    def measured(self) -> Measured:
        """What the run has counted and used during its last minute."""
        return self._run().measured()

    def _run(self) -> Running:
        if self._running is None:
            raise RunError("not-started", "this session is not running", help="start() it first")
        return self._running

    # -- answers

    def table(self, name: str, version: int | None = None) -> pa.Table:
        """All answers of a query so far, as an Arrow table; needs no Spark."""
        from weft import results  # noqa: PLC0415  Arrow is not needed before

        queries = [query for query in self.program.queries if query.name.lower() == name.lower()]
        if not results.knows(self.home, name) and (queries or not self._has_home()):
            what = f"query `{name}` has not run in {self.home}, so it has no answers"
            raise RunError("not-started", what, help="start() a session with it first, in this home")
        columns = {one.name: one.type for query in queries for one in schema(query.plan)}
        return results.all_answers(results.find(self.home, name, version), columns)

    def results(self, name: str, version: int | None = None) -> DataFrame:
        """All answers of a query so far, as a Spark DataFrame."""
        found = self.table(name, version)  # before Spark is started for what is not there
        return self.spark.createDataFrame(found)

    def verify(self, name: str, tell: Callable[[str], None] = lambda _: None) -> Verification:
        """Compute the answers of a query again, from the committed input by plain Spark SQL, and compare.

        `tell` is told from time to time how far it has come.
        """
        from weft.spark.running import bind_with_spark  # noqa: PLC0415  imports pyspark
        from weft.verify import verify  # noqa: PLC0415  brings in the reference

        bound = self._bound is not None  # types that only Spark can tell are not known yet
        program = bind_with_spark(self.spark, self._statements, self._bound) if bound else self.program
        return verify(self.spark, self.home, program, name, tell)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self.explain()))}</pre>"


def _check_text(given: object) -> None:
    if not isinstance(given, str):
        raise QueryError(
            "not-text",
            f"a program is a text, not {given!r}",
            help="sql('CREATE STREAM ...'), or of a file sql(Path('app.sql').read_text(), file='app.sql')",
        )


def _checked_trigger(text: str) -> str:
    found = times.trigger(text)
    if found is None:
        what = f"the trigger {text!r} is no interval in whole milliseconds"
        raise RunError("bad-trigger", what, help="write 1s, 250ms or 1 minute")
    return found


def _without(declared: list[Declaration], dropped: DropQuery | DropView | DropTable) -> list[Declaration]:
    kinds = _DROPPED[type(dropped)]
    return [
        statement
        for statement in declared
        if not (isinstance(statement, kinds) and statement.name.lower() == dropped.name.lower())
    ]
