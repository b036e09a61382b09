"""Does absence stand where it is cheaper? `python -m benchmarks.places`

Rows of `a` that have a partner in `b` and none in `c`, with absence above and below the join, by the number
of keys: fewer keys are more pairs. Windows are filled first; told are CPU-milliseconds of a batch after that,
the median over batches, what is predicted of both places by constants measured on this machine, and which
one would have been taken.
"""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median

import click
import numpy as np
import pyarrow as pa

from benchmarks.intake import taken_in
from weft.engine.jointrial import with_joins
from weft.engine.relations.evaluate import without_spark
from weft.engine.relations.state import Relations
from weft.engine.windows import Reach
from weft.kernels.arrow import TIME
from weft.optimize.pipeline import optimize_program
from weft.plan.nodes import Program
from weft.plan.relationplacing import joins_below
from weft.share.build import build
from weft.share.model.constants import SHIPPED
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.nodes import SharedPlan
from weft.share.relations.placing import Placed
from weft.testing.harness import bound
from weft.times import SECOND

STREAM = """
CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP)
  TIMESTAMP BY at DELAY 0 SECONDS FROM parquet OPTIONS ('path' = 'none');
"""
QUERY = """
CREATE QUERY q AS SELECT x.v, y.v AS w FROM a [RANGE {0} SECONDS] x JOIN b [RANGE {0} SECONDS] y ON x.k = y.k
WHERE NOT EXISTS (SELECT 1 FROM c [RANGE {0} SECONDS] z WHERE z.k = x.k);
"""


class Fed:
    """One way to carry the query out, fed a second of all streams at a time; keys of `c` are half of all."""

    def __init__(self, plan: SharedPlan, program: Program, way: Placed, rows: int, keys: int) -> None:
        self._plans = {each.stream.name: each for each in plan.streams}
        (woven,) = plan.related
        self._relations = Relations(without_spark)
        self._relations.adopt(replace(plan, related=(replace(woven, relation=way.relation),)), program, {})
        self._rng, self._now, self._rows, self._keys = np.random.default_rng(3), 0, rows, keys

    def second(self) -> float:
        """CPU-seconds of the next batches and their step."""
        tables = {name: self._table(name) for name in "abc"}
        self._now += 1
        reach = {name: Reach(watermark=self._now * SECOND) for name in "abc"}
        start = time.process_time()
        for name, table in tables.items():
            self._relations.fold(name, self._now, table)
        self._relations.answer(reach, dict.fromkeys("abc", self._now * SECOND - 1))
        return time.process_time() - start

    def _table(self, name: str) -> pa.Table:
        keys = self._rng.integers(0, self._keys // 2 if name == "c" else self._keys, self._rows)
        times = np.sort(self._rng.integers(self._now * SECOND, (self._now + 1) * SECOND, self._rows))
        values = self._rng.integers(0, 1_000_000, self._rows)
        return taken_in(
            self._plans[name], pa.table({"k": keys, "v": values, "at": pa.array(times).cast(TIME)})
        )


@click.command()
@click.option("--rows", default=2000, show_default=True, help="of each stream a second")
@click.option("--window", default=10, show_default=True, help="seconds")
@click.option("--keys", default="1000,5000,10000,20000,40000,200000", show_default=True)
@click.option("--batches", default=9, show_default=True, help="that are measured, of a second each")
def main(rows: int, window: int, keys: str, batches: int) -> None:
    """Print what both places take, and which is chosen."""
    text = "".join(STREAM.format(name=name) for name in "abc") + QUERY.format(window)
    program, constants = optimize_program(bound(text)), with_joins(SHIPPED)
    click.echo("   keys  pairs a row       place  measured  predicted")
    for count in map(int, keys.split(",")):
        load = Load(rows=float(rows), groups=float(count), rows_by="given", groups_by="given")
        plan = build(program, basis=Basis(Loads(other=load), constants))
        placing = plan.related[0].placing
        assert placing is not None
        feds = [Fed(plan, program, way, rows, count) for way in placing.ways]
        took = [[fed.second() for fed in feds] for _ in range(window + 2 + batches)][window + 2 :]
        for at, way in enumerate(placing.ways):
            (joins,) = joins_below(way.relation)
            seconds = median(each[at] for each in took)
            chosen = "  chosen" if not at else ""
            click.echo(
                f"{count:7}  {2 * window * rows / count:11.2f}  {'above' if joins else 'below':>10}"
                f"  {1e3 * seconds:5.0f} ms  {1e3 * way.cost:6.0f} ms{chosen}"
            )


if __name__ == "__main__":
    main()
