"""How fast pairs are found: rows that probe a store of one side of a join.

    python -m benchmarks.pairs [--rows 1000000] [--probes 100000] [--keys 10000] [--pairs 5]

Rows come in batches and probe in one; windows are such that a probing row meets `--pairs` rows. The same rows
lie in 1, 4 and 12 classes by how long they live, each looked through by itself or all merged into one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import click
import numpy as np
import pyarrow as pa

from weft.kernels.combine import Ints
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import Lives

BATCH = 50_000
CLASSES = (1, 4, 12)


def lengths(keys: int, pairs: int, classes: int) -> Ints:
    """How long the rows of each class live, so that a row meets `pairs`; rows come one a microsecond."""
    shares = np.linspace(0.5, 1.5, classes) if classes > 1 else np.ones(1)
    return (shares * pairs * keys).astype(np.int64)


def fill(store: RowStore, rows: int, keys: int, lives: Ints) -> float:
    """CPU-seconds to add all rows."""
    rng = np.random.default_rng(1)
    spent = 0.0
    for first in range(0, rows, BATCH):
        begins = np.arange(first, min(first + BATCH, rows))
        key = pa.array(rng.integers(0, keys, len(begins)))
        name = pa.array([f"n{at}" for at in range(99)]).take(pa.array(begins % 99))
        table = pa.table({"key": key, "price": rng.random(len(begins)), "name": name})
        ends = begins + rng.choice(lives, len(begins))
        start = time.process_time()
        store.add([key], Lives(table, begins, ends))
        spent += time.process_time() - start
    return spent


def median(run: Callable[[], object], times: int) -> float:
    """CPU-seconds, the median of so many runs."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def measure(rows: int, probes: int, keys: int, pairs: int, classes: int, merged: bool) -> Sequence[float]:
    """Nanoseconds per added row, per probing row, and per pair without and with its columns; pairs a row."""
    lives = lengths(keys, pairs, classes)
    each = [tuple(lives.tolist())] if merged else [(length,) for length in lives.tolist()]
    store = RowStore(1, each)
    added = fill(store, rows, keys, lives)
    rng = np.random.default_rng(2)
    begins = np.sort(rng.integers(rows // 2, rows, probes))
    key = pa.array(rng.integers(0, keys, probes))
    found = store.pairs([key], begins, begins + 1)
    probe = median(lambda: store.pairs([key], begins, begins + 1), 5)
    take = median(lambda: store.take(found.refs, ["price", "name"]), 5)
    count = len(found)
    return added / rows * 1e9, probe / probes * 1e9, probe / count * 1e9, take / count * 1e9, count / probes


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="rows that are held")
@click.option("--probes", default=100_000, show_default=True, help="rows that probe, in one batch")
@click.option("--keys", default=10_000, show_default=True, help="distinct keys")
@click.option("--pairs", default=5, show_default=True, help="pairs per probing row, on average")
def main(rows: int, probes: int, keys: int, pairs: int) -> None:
    """Print nanoseconds of CPU per row and per pair."""
    click.echo("classes  looked through  added row  probing row   pair  its columns  pairs a row")
    for classes in CLASSES:
        for merged in (False, True)[: 1 if classes == 1 else 2]:
            ns = measure(rows, probes, keys, pairs, classes, merged)
            how = "together" if merged else "one by one"
            click.echo(
                f"{classes:7}  {how:14}  {ns[0]:6.0f} ns  {ns[1]:8.0f} ns  {ns[2]:3.0f} ns  {ns[3]:8.0f} ns"
                f"  {ns[4]:11.2f}"
            )


if __name__ == "__main__":
    main()
