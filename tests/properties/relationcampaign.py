"""Thousands of random queries over several streams, judged by the reference.

    python -m tests.properties.relationcampaign --queries 2000 --seed 1
    python -m tests.properties.relationcampaign --queries 2000 --seed 1 --by-hand      without Spark
    python -m tests.properties.relationcampaign --queries 2000 --seed 1 --plainly      the reference itself

Judged is weft on Spark; with `--by-hand` its relations alone, on rows that the kernels evaluated; with
`--plainly` the SQL of the reference, by a few loops over rows.
A program whose answers differ is cut down and left as a `.test` file.
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

from tests.properties.plainly import disagreements as plain_disagreements
from tests.properties.relationqueries import Sizes
from tests.properties.relations import Scenario, as_case, disagreements, run, scenario
from tests.unit.engine.relations.loom import fed

Wrong = dict[str, str]
Judge = Callable[[Scenario], Wrong]
ATTEMPTS = 60  # runs spent on cutting one program down


def main() -> int:
    asked = arguments()
    if asked.plainly:
        return campaign(asked, judge_plainly)
    if asked.by_hand:
        return campaign(asked, judge_by_hand)
    from weft.spark.session import build_session  # noqa: PLC0415  starts a JVM

    spark = build_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    try:
        return campaign(asked, lambda made: judge(spark, made))
    finally:
        spark.stop()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-program", type=int, default=10)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument(
        "--sources", type=int, nargs="+", default=Sizes().sources, help="how many, drawn of these"
    )
    parser.add_argument("--plainly", action="store_true", help="judge the reference, by loops over rows")
    parser.add_argument("--by-hand", action="store_true", help="relations fed by hand, without Spark")
    parser.add_argument("--out", type=Path, default=Path("build/found"), help="where failures are left")
    return parser.parse_args()


def campaign(asked: argparse.Namespace, judged: Judge) -> int:
    """Zero when all agree."""
    began, done, failed, number = time.monotonic(), 0, 0, 0
    sizes = Sizes(sources=tuple(asked.sources))
    while done < asked.queries:
        count = min(asked.per_program, asked.queries - done)
        name = f"seed {asked.seed} program {number}"
        made = scenario(Random(f"{asked.seed}/{number}"), count, asked.rows, name, sizes)
        wrong = judged(made)
        if wrong:
            failed += len(wrong)
            keep(made.only(*wrong), judged, asked.out)
        done, number = done + count, number + 1
        print(f"{done} queries, {failed} differ, {time.monotonic() - began:.0f} s", flush=True)
    print(f"seed {asked.seed}: {done} queries in {number} programs, {failed} differ")
    return 1 if failed else 0


def judge(spark, made: Scenario) -> Wrong:
    """The queries that differ, each with how; all of them when the program does not run at all."""
    from weft.spark.replay import Replay  # noqa: PLC0415  imports pyspark

    with tempfile.TemporaryDirectory() as home:
        adapter = Replay(spark, Path(home))
        try:
            return disagreements(made, run(made, adapter))
        except Exception:
            return {name: traceback.format_exc() for name, _ in made.queries}
        finally:
            adapter.stop()


def judge_by_hand(made: Scenario) -> Wrong:
    try:
        return disagreements(made, fed(made).results())
    except Exception:
        return {name: traceback.format_exc() for name, _ in made.queries}


def judge_plainly(made: Scenario) -> Wrong:
    try:
        return plain_disagreements(made)
    except Exception:
        return {name: traceback.format_exc() for name, _ in made.queries}


def keep(made: Scenario, judged: Judge, out: Path) -> None:
    """Cut the scenario down as far as it still differs, and leave it as a case."""
    small = smaller(made, judged)
    wrong = judged(small)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"relations-{made.name.replace(' ', '-')}.test"
    path.write_text(
        "".join(f"# {line}\n" for text in wrong.values() for line in text.splitlines()) + as_case(small)
    )
    print(f"  {path}", file=sys.stderr)


def smaller(made: Scenario, judged: Judge) -> Scenario:
    """One query, as few batches and as few rows as a bounded number of attempts finds."""
    left, failures = ATTEMPTS, {_failure(text) for text in judged(made).values()}

    def differs(candidate: Scenario) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and any(_failure(text) in failures for text in judged(candidate).values())

    for name, _ in made.queries:
        if differs(made.only(name)):
            made = made.only(name)
            break
    at = 0
    while at < len(made.feeds):
        candidate = replace(made, feeds=made.feeds[:at] + made.feeds[at + 1 :])
        made, at = (candidate, at) if differs(candidate) else (made, at + 1)
    for at in range(len(made.feeds)):
        made = _fewer_rows(made, at, differs)
    return made


def _failure(text: str) -> str:
    """What a program failed with, empty if it told something else: to be cut down it must stay the same."""
    return text.splitlines()[-1] if text.startswith("Traceback") else ""


def _fewer_rows(made: Scenario, at: int, differs: Callable[[Scenario], bool]) -> Scenario:
    """Leave out one row after the other as long as the rest still differs."""
    start = 0
    while start < made.feeds[at][1].num_rows:
        stream, rows = made.feeds[at]
        kept = pa.concat_tables([rows.slice(0, start), rows.slice(start + 1)])
        candidate = replace(made, feeds=(*made.feeds[:at], (stream, kept), *made.feeds[at + 1 :]))
        made, start = (candidate, start) if differs(candidate) else (made, start + 1)
    return made


if __name__ == "__main__":
    sys.exit(main())
