"""What rows of joins take here: kept, looked for, looked at, and coming and going; on generated rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
import pyarrow as pa

from weft.engine.relations.changing import PairingChanges
from weft.engine.relations.counting import Comparing
from weft.engine.relations.operator import Operator
from weft.engine.shape import Done, Job
from weft.kernels.combine import Ints
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import Lives
from weft.lang.bodies import JoinKind, SetKind
from weft.lang.parse import parse_expression
from weft.plan.nodes import Named
from weft.plan.relations import Merged, Paired, Rows
from weft.share.model.constants import Constants

ROWS, BATCH, KEYS = 25_000, 5_000, 1_000  # rows come one a microsecond
CLASSES = 9
SHORT, LONG = 2 * KEYS, 20 * KEYS  # lives: a row meets two others, or twenty
STEPS = 5
TIMES = 3


def with_joins(constants: Constants) -> Constants:
    """The constants with those of joins as they are here."""
    a, b = (Rows(name, (Named(name, parse_expression(name), "bigint"),), None, BATCH) for name in "ab")
    pairs = Paired(JoinKind.INNER, a, b, parse_expression("a = b"))
    short, long = _Shelved((SHORT,)), _Shelved((LONG,))
    many = _Shelved(tuple(SHORT + at for at in range(CLASSES)))
    looked = max(long.probed - short.probed, 0.0) / (long.found - short.found)
    more = max(many.probed - short.probed - looked * (many.found - short.found), 0.0)
    return replace(
        constants,
        kept=short.added / BATCH,
        lookup=more / BATCH / (CLASSES - 1),
        looked=looked,
        change=_each_change(PairingChanges(pairs, _no_jobs)),
        counted=_each_change(Comparing(Merged(SetKind.EXCEPT, True, a, b))),
    )


class _Shelved:
    """Rows that live for these times, each in a class of its own: what adding and probing took."""

    def __init__(self, lengths: tuple[int, ...]) -> None:
        self._draw = np.random.default_rng(1)
        store = RowStore(1, [(each,) for each in lengths])
        self.added = median([self._add(store, first, lengths) for first in range(0, ROWS, BATCH)])
        begins = np.arange(ROWS - BATCH, ROWS)
        keys = self._keys()
        self.found = len(store.pairs([keys], begins, begins + 1))
        self.probed = median(_spent(lambda: store.pairs([keys], begins, begins + 1)) for _ in range(TIMES))

    def _add(self, store: RowStore, first: int, lengths: tuple[int, ...]) -> float:
        begins: Ints = np.arange(first, first + BATCH)
        keys = self._keys()
        rows = Lives(pa.table({"k": keys}), begins, begins + self._draw.choice(lengths, BATCH))
        return _spent(lambda: store.add([keys], rows))

    def _keys(self) -> pa.Array:
        return pa.array(self._draw.integers(0, KEYS, BATCH))


def _each_change(operator: Operator) -> float:
    """What a row takes that begins or ends, of two sources `a` and `b`."""
    draw = np.random.default_rng(1)

    def step(number: int) -> float:
        begins = np.arange(number * BATCH, (number + 1) * BATCH)
        keys = [pa.table({name: draw.integers(0, 10 * KEYS, BATCH)}) for name in "ab"]
        told = [Lives(each, begins, begins + BATCH) for each in keys]
        return _spent(lambda: operator.advance(told, (number + 1) * BATCH))

    return median([step(number) for number in range(STEPS)][1:]) / (4 * BATCH)  # as many end as begin


def _spent(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _no_jobs(jobs: Sequence[Job]) -> Sequence[Done]:
    return []
