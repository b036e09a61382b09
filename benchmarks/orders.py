"""Is the order in which a join looks through its windows a good one? `python -m benchmarks.orders`

Joins of three and four streams on one column, with other rates, windows and numbers of values. The engine
chooses its order by what has come; then every order takes turns with the same rows held, and the CPU time of
a batch is told: medians of `--repeat`, the chosen one beside the best. Orders in which some look-up has no
key, for which all would be paired with all, are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import median

import click
import numpy as np
import pyarrow as pa

from benchmarks.intake import taken_in
from weft.engine.relations import joining
from weft.engine.relations.evaluate import without_spark
from weft.engine.relations.joining import Joining
from weft.engine.relations.state import Relations
from weft.engine.windows import Reach
from weft.kernels.arrow import TIME
from weft.optimize.pipeline import optimize_program
from weft.share.build import build
from weft.testing.harness import bound
from weft.times import SECOND

STREAM = """
CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP)
  TIMESTAMP BY at DELAY 0 SECONDS FROM parquet OPTIONS ('path' = 'none');
"""
SECONDS = 10  # of a batch
FOR_EVER = 10**9


@dataclass(frozen=True, slots=True)
class Source:
    """A stream: rows a second, seconds of its window, different values of the column."""

    rate: int
    window: int
    values: int


JOINS = {
    "three, one fast": (Source(500, 60, 8000), Source(50, 60, 8000), Source(5, 60, 8000)),
    "three, values": (Source(100, 60, 20000), Source(100, 60, 4000), Source(100, 60, 10000)),
    "four, windows": (
        Source(100, 100, 9000), Source(100, 10, 9000), Source(100, 50, 9000), Source(100, 20, 9000),
    ),
}  # fmt: skip


class Joined:
    """A join of several streams that is fed by hand."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {f"s{at}": source for at, source in enumerate(sources)}
        text = "".join(STREAM.format(name=name) for name in self._sources)
        first, *others = (f"{name} [RANGE {one.window} SECONDS]" for name, one in self._sources.items())
        joins = "".join(f" JOIN {each} ON s0.k = s{at}.k" for at, each in enumerate(others, 1))
        shown = ", ".join(f"{name}.v AS {name}v" for name in self._sources)
        program = optimize_program(bound(f"{text}CREATE QUERY q AS SELECT {shown} FROM {first}{joins};"))
        plan = build(program)
        self._plans = {each.stream.name: each for each in plan.streams}
        self._relations = Relations(without_spark)
        self._relations.adopt(plan, program, {})
        nodes = self._relations.graph.nodes()
        self.join = next(node.operator for node in nodes if isinstance(node.operator, Joining))
        self._rng, self._now = np.random.default_rng(5), 0

    def made(self) -> dict[str, pa.Table]:
        """The next rows of all streams."""
        first, self._now = self._now * SECOND, self._now + SECONDS
        return {
            name: taken_in(self._plans[name], self._rows(source, first))
            for name, source in self._sources.items()
        }

    def _rows(self, source: Source, first: int) -> pa.Table:
        rows = source.rate * SECONDS
        times = first + np.arange(rows) * (SECONDS * SECOND // rows)
        keys = self._rng.integers(0, source.values, rows)
        return pa.table({"k": keys, "v": np.arange(rows), "at": pa.array(times).cast(TIME)})

    def step(self, tables: dict[str, pa.Table]) -> float:
        """CPU-seconds that these rows take."""
        began = time.process_time()
        for name, table in tables.items():
            self._relations.fold(name, self._now, table)
        end = self._now * SECOND
        self._relations.answer(dict.fromkeys(tables, Reach(watermark=end)), dict.fromkeys(tables, end - 1))
        return time.process_time() - began


def measure(sources: Sequence[Source], repeat: int) -> tuple[joining.Order, dict[joining.Order, list[float]]]:
    """The order that is chosen, and what a batch takes in each."""
    every, made = joining.EVERY, Joined(sources)
    for _ in range(2 * every):
        made.step(made.made())
    chosen, joining.EVERY = made.join.order, FOR_EVER
    spent: dict[joining.Order, list[float]] = {
        order: [] for order in permutations(range(len(sources))) if made.join.has_keys(order)
    }
    for turn in range(repeat + 1):
        for order in spent:
            made.join.order = order
            took = made.step(made.made())
            spent[order] += [took] if turn else []
    joining.EVERY = every
    return chosen, spent


@click.command()
@click.option("--repeat", default=5, show_default=True)
def main(repeat: int) -> None:
    """All joins, as text."""
    click.echo(f"medians of {repeat}; load {os.getloadavg()[0]:.1f}")
    for name, sources in JOINS.items():
        chosen, spent = measure(sources, repeat)
        medians = {order: median(times) for order, times in spent.items()}
        best = min(medians, key=lambda order: medians[order])
        worst = max(medians.values())
        spread = max(spent[best]) - min(spent[best])
        within = medians[chosen] <= 1.1 * medians[best] + spread
        click.echo(
            f"{name:16} chosen {chosen} {1000 * medians[chosen]:7.1f} ms   "
            f"best {best} {1000 * medians[best]:7.1f} ms, spread {1000 * spread:.1f}   "
            f"worst {1000 * worst:7.1f} ms   "
            f"{'within 10 % and spread' if within else 'NOT within 10 % and spread'}"
        )


if __name__ == "__main__":
    main()
