"""Random queries over several streams, carried out: what the reference says, however they are run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from random import Random

import pyarrow as pa
import pytest

from tests.properties.relations import Scenario, assert_right, disagreements, scenario
from tests.properties.relationsizes import Sizes
from tests.unit.engine.relations.loom import Loom, fed, resume
from weft.engine.relations import joining
from weft.engine.relations.operator import Told
from weft.share.joinorder import Side
from weft.testing.values import rows_of
from weft.times import Instant

SEEDS = range(20)
THREE = Sizes(sources=(3,), set_operation=0.0, absence=0.1, distinct=0.1, outer=0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_is_what_the_reference_says(seed: int) -> None:
    made = scenario(Random(seed), 4, 30, f"found by seed {seed}")
    wrong = disagreements(made, fed(made).results())
    assert_right(made, wrong)


class Shuffled:
    """Joins of three streams that take another order with every step, whatever it costs."""

    def __init__(self, rng: Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self._rng = rng
        self.found = 0  # rows that were found in another order than the written one
        monkeypatch.setattr(joining, "EVERY", 1)
        monkeypatch.setattr(joining, "GAIN", inf)
        monkeypatch.setattr(joining, "reorder_pays", lambda *prices: True)
        monkeypatch.setattr(joining, "best_order", self._any)
        monkeypatch.setattr(joining.Joining, "has_keys", lambda join, order: True)
        plain = joining.Joining.advance

        def advance(join: joining.Joining, told: Sequence[Told], upto: Instant) -> Told:
            order, made = join.order, plain(join, told, upto)
            self.found += len(made) if order != tuple(range(len(order))) else 0
            return made

        monkeypatch.setattr(joining.Joining, "advance", advance)

    def _any(self, sides: Sequence[Side]) -> joining.Order:
        return tuple(self._rng.sample(range(len(sides)), len(sides)))


def test_joins_change_their_order_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled = Shuffled(Random(900), monkeypatch)
    for seed in range(900, 905):
        made = scenario(Random(seed), 4, 30, f"found by seed {seed}, orders that change", THREE)
        wrong = disagreements(made, fed(made).results())
        assert_right(made, wrong)
    assert shuffled.found > 100


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_shared_as_alone(seed: int) -> None:
    made = scenario(Random(1000 + seed), 5, 40)
    together = fed(made).results()
    for name, _ in made.queries:
        alone = fed(made.only(name)).results()[name]
        assert Counter(map(repr, rows_of(together[name]))) == Counter(map(repr, rows_of(alone)))


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_however_the_rows_are_cut_into_batches(seed: int) -> None:
    made = scenario(Random(2000 + seed), 4, 40)
    streams = dict.fromkeys(stream for stream, _ in made.feeds)
    whole = [(name, pa.concat_tables([rows for of, rows in made.feeds if of == name])) for name in streams]
    once = replace(made, feeds=tuple(whole))
    wrong = disagreements(once, fed(once).results())
    assert_right(once, wrong)


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_rows_read_again_after_a_stop_tell_nothing_twice(seed: int) -> None:
    rng = Random(3000 + seed)
    made = scenario(rng, 4, 40, f"found by seed {3000 + seed}, stopped")
    loom = Loom.of(made)
    stop = rng.randrange(len(made.feeds) + 1)
    for stream, rows in made.feeds[:stop]:
        loom.feed(stream, rows)
    loom = _resumed(loom, made, stop)
    for stream, rows in made.feeds[stop:]:
        loom.feed(stream, rows)
    loom.drain()
    wrong = disagreements(made, loom.results())
    assert_right(made, wrong)


def _resumed(before: Loom, made: Scenario, stop: int) -> Loom:
    """Another one, brought to where this one was as after a restart from a snapshot."""
    after = Loom.of(made)
    resume(after, before, made.feeds[:stop])
    return after
