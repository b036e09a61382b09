"""Thousands of random queries through weft on Spark, judged by the reference.

    python -m tests.properties.campaign --queries 3000 --seed 1

A program whose answers differ is cut down and left as a `.test` file that tests/sql takes as it is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tests.properties.campaigns import Campaign, Wrong, parser, surely, with_feed
from tests.properties.programs import Scenario, as_case, disagreements, run, scenario
from weft.share import predicates
from weft.spark.executors import SparkCrew
from weft.spark.replay import Replay
from weft.spark.session import build_session


def main() -> int:
    asked = arguments()
    predicates.MANY = asked.many
    spark = build_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    try:
        crew = SparkCrew(spark, asked.buckets) if asked.buckets else None
        return Campaign(
            lambda rng, count, name: scenario(rng, count, asked.rows, name, 0.3, asked.ranges),
            surely(lambda made: judge(spark, made, crew)),
            as_case,
            shrink,
        ).run(asked)
    finally:
        spark.stop()


def arguments() -> argparse.Namespace:
    made = parser(__doc__, queries=3000, per_program=20, rows=120)
    made.add_argument("--buckets", type=int, default=0, help="on executors, in so many buckets")
    made.add_argument("--many", type=int, default=predicates.MANY, help="conditions that become a key")
    made.add_argument("--ranges", type=float, default=0.0, help="the part of queries with a range")
    return made.parse_args()


def judge(spark, made: Scenario, crew: SparkCrew | None = None) -> Wrong:
    """The queries that differ, each with how."""
    with tempfile.TemporaryDirectory() as home:
        adapter = Replay(spark, Path(home), crew)
        try:
            return disagreements(made, run(made, adapter))
        finally:
            adapter.stop()


def shrink(made: Scenario, differs: Callable[[Scenario], bool]) -> Scenario:
    """One batch if that will do, and as few rows as may be."""
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
            candidate = with_feed(made, at, rest)
            made, start = (candidate, start) if differs(candidate) else (made, start + size)
        size //= 2
    return made


if __name__ == "__main__":
    sys.exit(main())
