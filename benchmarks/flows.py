"""What a table of changes costs: rows that look it up, changes of it, and a snapshot of it.

    python -m benchmarks.flows [--steps 10]

In each step changes and rows of random keys come for the same second, so that rows wait for the next step;
without Spark. `one key` is the worst case: all changes and all rows have the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import click
import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import without_spark
from weft.engine.relations.state import Relations
from weft.engine.windows import Reach
from weft.kernels.combine import Ints
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.times import SECOND, Instant

STREAM = """
CREATE STREAM {} (k BIGINT, v BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'unread');
"""
PROGRAM = (
    STREAM.format("rows")
    + STREAM.format("changes")
    + """
CREATE TABLE entries KEY (k) FROM STREAM changes;
CREATE QUERY q AS SELECT r.k, r.v, e.v AS w FROM rows r JOIN entries e ON r.k = e.k;
"""
)
CASES = (  # keys, changes and rows of a step, all of one key
    (10_000, 1_000, 10_000, False),
    (1_000_000, 10_000, 10_000, False),
    (1_000_000, 1_000, 100_000, False),
    (10_000, 1_000, 1_000, True),
    (10_000, 10_000, 10_000, True),
)


class Running:
    """The program, fed by hand."""

    def __init__(self) -> None:
        program = optimize_program(bind_program(parse_program(PROGRAM)))
        self.relations = Relations(without_spark)
        self.relations.adopt(build(program), program, {})
        self.latest: dict[str, Instant] = {}
        self._batches = 0
        self._random = np.random.default_rng(1)

    def feed(self, stream: str, keys: Ints, second: int) -> None:
        """Rows of one second."""
        times = np.sort(second * SECOND + self._random.integers(0, SECOND, len(keys)))
        at = pa.array(times, pa.timestamp("us", tz="UTC"))
        self.relations.fold(stream, self._batches, pa.table({"k": keys, "v": np.arange(len(keys)), "at": at}))
        self.latest[stream] = int(times[-1])
        self._batches += 1

    def step(self) -> None:
        reach = {name: Reach(at - SECOND) for name, at in self.latest.items()}
        self.relations.answer(reach, self.latest)
        self.relations.forget(reach)


def spent(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(keys: int, changes: int, rows: int, one_key: bool, steps: int) -> tuple[float, float, float]:
    """CPU-seconds to fill the table, of a step, and of a snapshot."""
    running, random = Running(), np.random.default_rng(2)

    def drawn(count: int) -> Ints:
        return np.zeros(count, np.int64) if one_key else random.integers(0, keys, count)

    def fill() -> None:
        running.feed("changes", np.arange(keys), 0)
        running.feed("changes", drawn(1), 5)
        running.step()

    def go_on() -> None:
        for second in range(10, 10 + steps):
            running.feed("changes", drawn(changes), second)
            running.feed("rows", drawn(rows), second)
            running.step()

    return spent(fill), spent(go_on) / steps, spent(running.relations.save)


@click.command()
@click.option("--steps", default=10, show_default=True)
def main(steps: int) -> None:
    print("     keys  changes     rows          to fill, us/row   a step, ms     us/row   a snapshot, ms")
    for keys, changes, rows, one_key in CASES:
        filled, step, saved = measure(keys, changes, rows, one_key, steps)
        what = f"{keys:9} {changes:8} {rows:8} {'one key' if one_key else '':8}"
        a_row = step / (changes + rows)
        print(
            f"{what} {filled / keys * 1e6:15.1f} {step * 1e3:12.0f} {a_row * 1e6:10.1f} {saved * 1e3:16.0f}"
        )


if __name__ == "__main__":
    main()
