"""Thousands of random queries through weft on Spark, judged by the reference.

    python -m tests.properties.campaign --queries 3000 --seed 1

A program whose answers differ is cut down and left as a `.test` file that tests/sql takes as it is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa

from tests.properties.programs import Scenario, as_case, disagreements, run, scenario
from weft.share import predicates
from weft.spark.executors import SparkCrew
from weft.spark.replay import Replay
from weft.spark.session import build_session

Wrong = dict[str, str]
Judge = Callable[[Scenario], Wrong]
ATTEMPTS = 40  # runs spent on cutting one program down


def main() -> int:
    asked = arguments()
    predicates.MANY = asked.many
    spark = build_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    try:
        crew = SparkCrew(spark, asked.buckets) if asked.buckets else None
        return campaign(asked, lambda made: judge(spark, made, crew))
    finally:
        spark.stop()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-program", type=int, default=20)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--buckets", type=int, default=0, help="on executors, in so many buckets")
    parser.add_argument("--many", type=int, default=predicates.MANY, help="conditions that become a key")
    parser.add_argument("--ranges", type=float, default=0.0, help="the part of queries with a range")
    parser.add_argument("--out", type=Path, default=Path("build/found"), help="where failures are left")
    return parser.parse_args()


def campaign(asked: argparse.Namespace, judged: Judge) -> int:
    """Zero when all agree."""
    began, done, failed, number = time.monotonic(), 0, 0, 0
    while done < asked.queries:
        count = min(asked.per_program, asked.queries - done)
        name = f"seed {asked.seed} program {number}"
        made = scenario(Random(f"{asked.seed}/{number}"), count, asked.rows, name, 0.3, asked.ranges)
        wrong = judged(made)
        if wrong:
            failed += len(wrong)
            keep(made.only(*wrong), judged, asked.out)
        done, number = done + count, number + 1
        print(f"{done} queries, {failed} differ, {time.monotonic() - began:.0f} s", flush=True)
    print(f"seed {asked.seed}: {done} queries in {number} programs, {failed} differ")
    return 1 if failed else 0


def judge(spark, made: Scenario, crew: SparkCrew | None = None) -> Wrong:
    """The queries that differ, each with how; all of them when the program does not run at all."""
    with tempfile.TemporaryDirectory() as home:
        adapter = Replay(spark, Path(home), crew)
        try:
            return disagreements(made, run(made, adapter))
        except Exception:
            return {name: traceback.format_exc() for name, _ in made.queries}
        finally:
            adapter.stop()


def keep(made: Scenario, judged: Judge, out: Path) -> None:
    """Cut the scenario down as far as it still differs, and leave it as a case."""
    small = smaller(made, judged)
    wrong = judged(small)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{made.name.replace(' ', '-')}.test"
    path.write_text(
        "".join(f"# {line}\n" for text in wrong.values() for line in text.splitlines()) + as_case(small)
    )
    print(f"  {path}", file=sys.stderr)


def smaller(made: Scenario, judged: Judge) -> Scenario:
    """One query, one batch if that will do, and as few rows as a bounded number of attempts finds."""
    left = ATTEMPTS

    def differs(candidate: Scenario) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and bool(judged(candidate))

    for name, _ in made.queries:
        if differs(made.only(name)):
            made = made.only(name)
            break
    whole = replace(made, feeds=(pa.concat_tables(made.feeds),))
    made = whole if differs(whole) else made
    for at in range(len(made.feeds)):
        made = _fewer_rows(made, at, differs)
    return made


def _fewer_rows(made: Scenario, at: int, differs: Callable[[Scenario], bool]) -> Scenario:
    """Leave out halves, quarters, ... of a batch as long as the rest still differs."""
    size = made.feeds[at].num_rows // 2
    while size:
        start = 0
        while start < made.feeds[at].num_rows:
            feed = made.feeds[at]
            rest = pa.concat_tables([feed.slice(0, start), feed.slice(start + size)])
            candidate = replace(made, feeds=(*made.feeds[:at], rest, *made.feeds[at + 1 :]))
            made, start = (candidate, start) if differs(candidate) else (made, start + size)
        size //= 2
    return made


if __name__ == "__main__":
    sys.exit(main())
