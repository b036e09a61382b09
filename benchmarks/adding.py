"""What does one more query cost while thousands run? `python -m benchmarks.adding`

A session with 5000 queries over a stream of a thousand rows a second. Queries are added one by one, one of
them with an aggregate that no other has, and dropped again. At last two are added with keys of their own, and
the first is dropped: then the plan is made anew beside the run. CPU time of the calling thread, for all of it
and for the shared plan alone; and the batches that come next, of which one has code to generate where what is
computed is new, beside the median of those before. What a batch takes is what Spark says: from its trigger
until its end is recorded. Before that, what the plans of so many queries hold in memory, and of a thousand
whose windows have hardly an edge in common.
"""

from __future__ import annotations

import gc
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import click
from pyspark.sql import SparkSession

import weft
from benchmarks.data import Data
from benchmarks.programs import draw, program
from benchmarks.weaving import zipf
from weft.engine.runtime import Runtime
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import Planner
from weft.share.nodes import SharedPlan
from weft.spark.session import build_session
from weft.times import SECOND

STREAM = """
CREATE STREAM events (value BIGINT, timestamp TIMESTAMP, key AS CAST(value % 10 AS INT),
  price AS value * 0.1D, qty AS value) TIMESTAMP BY timestamp DELAY 1 SECOND
  FROM rate OPTIONS ('rowsPerSecond' = '1000');
"""
OWN = """
CREATE QUERY {name} AS SELECT key % {by} AS k, MAX(qty * {by} - key) AS x FROM events [RANGE 77 SECONDS]
  GROUP BY key % {by};
"""
PLANNING = 0.020  # CPU-seconds that a query more may take


@click.command()
@click.option("--queries", default=5000, show_default=True)
@click.option("--adds", default=5, show_default=True)
@click.option("--settle", default=30.0, show_default=True, help="seconds before the first, at most 100")
@click.option("--only-memory", is_flag=True, help="tell what plans hold; start nothing")
def main(queries: int, adds: int, settle: float, only_memory: bool) -> None:
    """Add and drop queries while others run."""
    text = program(draw(queries + adds), Data(rows=1, keys=1, files=1), Path("unused"), None)
    statements = [f"CREATE QUERY{one}" for one in text.split("CREATE QUERY")[1:]]
    new = [
        *statements[queries:],
        "CREATE QUERY odd AS SELECT MAX(qty * 7 - key) AS x FROM events [RANGE 77 SECONDS];",
    ]
    click.echo(held(f"{queries} clock-like queries", STREAM + "".join(statements[:queries])))
    click.echo(held("1000 arbitrary queries", STREAM + arbitrary(1000)))
    if only_memory:
        return
    spark = build_session("local[*]", {"spark.driver.memory": "3g"})
    with tempfile.TemporaryDirectory(prefix="weft-adding-") as home, _timed() as timed:
        session = weft.Session(spark=spark, home=Path(home) / "home", placement="driver")
        session.sql(STREAM + "".join(statements[:queries]))
        session.start(trigger="1s")
        time.sleep(settle / 2)
        batches = _batches(spark, settle / 2)
        click.echo(
            f"{queries} queries; batches take {median(batches):.2f} s (median of {len(batches)}), "
            f"at most {max(batches):.2f} s"
        )

        def change(what: str, statement: str) -> None:
            click.echo(changed(what, session, statement, timed, batches))

        for statement in new:
            name = statement.split()[2]
            change(f"add {name}", statement)
            change(f"drop {name}", f"DROP QUERY {name};")
        for name, by in (("thirds", 3), ("fourths", 4)):
            change(f"add {name}", OWN.format(name=name, by=by))
        change("drop thirds", "DROP QUERY thirds;")
        while not timed.beside:
            time.sleep(0.1)
        click.echo(f"then the plan was made anew beside the run: {sum(timed.beside) * 1000:.0f} ms CPU")
        session.stop()
    spark.stop()


def arbitrary(count: int) -> str:
    """Queries with the thesis's windows, of 1 to 100,000 s."""
    items = ("COUNT(*)", "SUM(price)", "AVG(price)", "MIN(qty)", "MAX(qty)")
    return "".join(
        f"CREATE QUERY z{at} AS SELECT key, {items[at % len(items)]} AS value FROM events "
        f"[RANGE {each.range // SECOND} SECONDS SLIDE {each.slide // SECOND} SECONDS] GROUP BY key;\n"
        for at, each in enumerate(zipf(count, seed=1))
    )


def held(what: str, text: str) -> str:
    """What the statements and queries of a program hold, and its plan with all that the planner knows."""
    tracemalloc.start()
    bound = optimize_program(bind_program(parse_program(text)))
    gc.collect()
    read, _ = tracemalloc.get_traced_memory()
    planner = Planner()
    plan = planner.plan(bound)
    gc.collect()
    both, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    count = plan.saving.queries
    return (
        f"{what}: statements and queries {read / 1e6:.1f} MB ({read / count / 1e3:.1f} kB each), "
        f"planner and plan {(both - read) / 1e6:.1f} MB ({(both - read) / count / 1e3:.1f} kB each), "
        f"at most {most / 1e6:.1f} MB while they are read"
    )


@dataclass
class Timed:
    """CPU-seconds of planning, by whom they were taken."""

    caller: list[float] = field(default_factory=list)  # each plan that a change waited for
    beside: list[float] = field(default_factory=list)  # each time the plan was made anew


def changed(what: str, session: weft.Session, statement: str, timed: Timed, batches: Sequence[float]) -> str:
    """What a change takes, and the batches after it."""
    timed.caller.clear()
    timed.beside.clear()
    began, wall = time.thread_time(), time.monotonic()
    session.sql(statement)
    taken, waited = time.thread_time() - began, time.monotonic() - wall
    after = _batches(session.spark, 6.0)
    shown = ", ".join(f"{each:.2f}" for each in after[:3])
    return (
        f"{what}: plan {sum(timed.caller) * 1000:.1f} ms CPU (wanted {PLANNING * 1000:.0f}), "
        f"all {taken * 1000:.0f} ms CPU in {waited:.2f} s; the next batches {shown} s, "
        f"at most {max(after[:3]) / median(batches):.1f} times the median"
    )


def _batches(spark: SparkSession, seconds: float) -> list[float]:
    """How long each batch of the only stream took that ended within so many seconds, in their order."""
    (query,) = spark.streams.active
    before = query.lastProgress
    time.sleep(seconds)
    return [
        each.durationMs["triggerExecution"] / 1000
        for each in query.recentProgress
        if each.batchId > (before.batchId if before else -1)
    ]


@contextmanager
def _timed() -> Iterator[Timed]:
    """What each call of the planner took, and each plan that was made anew."""
    timed, caller = Timed(), threading.get_ident()
    plan, reweave = Planner.plan, Runtime.reweave

    def planned(*args: Any, **kwargs: Any) -> SharedPlan:
        began = time.thread_time()
        made = plan(*args, **kwargs)
        if threading.get_ident() == caller:
            timed.caller.append(time.thread_time() - began)
        return made

    def rewoven(runtime: Runtime) -> bool:
        began = time.thread_time()
        done = reweave(runtime)
        if done:
            timed.beside.append(time.thread_time() - began)
        return done

    with patch.object(Planner, "plan", planned), patch.object(Runtime, "reweave", rewoven):
        yield timed


if __name__ == "__main__":
    main()
