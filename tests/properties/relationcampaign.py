"""Thousands of random queries over several streams, judged by the reference.

    python -m tests.properties.relationcampaign --queries 2000 --seed 1
    python -m tests.properties.relationcampaign --queries 2000 --seed 1 --by-hand      without Spark
    python -m tests.properties.relationcampaign --queries 2000 --seed 1 --strategy negative direct
    python -m tests.properties.relationcampaign --queries 2000 --seed 1 --plainly      the reference itself

Judged is weft on Spark; with `--by-hand` its relations alone, on rows that the kernels evaluated, also by the
strategies that patterns are measured against; with `--plainly` the SQL of the reference, by a few loops over
rows. With `--alone` every query runs by itself, so that nothing is shared.
A program whose answers differ is cut down and left as a `.test` file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tests.properties.campaigns import Campaign, Wrong, parser, surely, with_feed
from tests.properties.plainly import disagreements as plain_disagreements
from tests.properties.relations import Scenario, as_case, disagreements, run, scenario
from tests.properties.relationsizes import EVERYTHING, Sizes
from tests.unit.engine.relations.loom import fed
from weft.share.relations.strategy import Strategy

Judge = Callable[[Scenario], Wrong]


def main() -> int:
    asked = arguments()
    if asked.plainly:
        return campaign(asked, plain_disagreements)
    if asked.by_hand or asked.strategy:
        strategies = [Strategy(each) for each in asked.strategy or ("patterns",)]
        return campaign(asked, lambda made: judge_by_hand(made, strategies))
    from weft.spark.session import build_session  # noqa: PLC0415  starts a JVM

    spark = build_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    try:
        return campaign(asked, lambda made: judge(spark, made))
    finally:
        spark.stop()


def arguments() -> argparse.Namespace:
    made = parser(__doc__, queries=2000, per_program=10, rows=30)
    made.add_argument(
        "--sources", type=int, nargs="+", default=Sizes().sources, help="how many, drawn of these"
    )
    made.add_argument("--plainly", action="store_true", help="judge the reference, by loops over rows")
    made.add_argument("--by-hand", action="store_true", help="relations fed by hand, without Spark")
    made.add_argument(
        "--strategy",
        nargs="+",
        choices=[each.value for each in Strategy],
        help="how they are carried out, by hand, one after the other",
    )
    made.add_argument("--alone", action="store_true", help="every query in a program of its own")
    return made.parse_args()


def campaign(asked: argparse.Namespace, judged: Judge) -> int:
    """Zero when all agree."""
    sizes = replace(EVERYTHING, sources=tuple(asked.sources))
    return Campaign(
        lambda rng, count, name: scenario(rng, count, asked.rows, name, sizes),
        surely(alone(judged) if asked.alone else judged),
        as_case,
        shrink,
        prefix="relations-",
        attempts=60,
    ).run(asked)


def alone(judged: Judge) -> Judge:
    """Each query by itself."""
    return lambda made: {
        name: text for query, _ in made.queries for name, text in judged(made.only(query)).items()
    }


def judge(spark, made: Scenario) -> Wrong:
    """The queries that differ, each with how."""
    from weft.spark.replay import Replay  # noqa: PLC0415  imports pyspark

    with tempfile.TemporaryDirectory() as home:
        adapter = Replay(spark, Path(home))
        try:
            return disagreements(made, run(made, adapter))
        finally:
            adapter.stop()


def judge_by_hand(made: Scenario, strategies: Sequence[Strategy]) -> Wrong:
    wrong: Wrong = {}
    for strategy in strategies:
        found = fed(made, strategy=strategy).results()
        wrong |= disagreements(made, found, lives=strategy is not Strategy.NEGATIVE)
    return wrong


def shrink(made: Scenario, differs: Callable[[Scenario], bool]) -> Scenario:
    """As few batches and as few rows as may be."""
    at = 0
    while at < len(made.feeds):
        candidate = replace(made, feeds=made.feeds[:at] + made.feeds[at + 1 :])
        made, at = (candidate, at) if differs(candidate) else (made, at + 1)
    for at in range(len(made.feeds)):
        made = _fewer_rows(made, at, differs)
    return made


def _fewer_rows(made: Scenario, at: int, differs: Callable[[Scenario], bool]) -> Scenario:
    """Leave out one row after the other as long as the rest still differs."""
    start = 0
    while start < made.feeds[at][1].num_rows:
        name, rows = made.feeds[at]
        candidate = with_feed(
            made, at, (name, pa.concat_tables([rows.slice(0, start), rows.slice(start + 1)]))
        )
        made, start = (candidate, start) if differs(candidate) else (made, start + 1)
    return made


if __name__ == "__main__":
    sys.exit(main())
