from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from weft.kernels.relations import latest
from weft.kernels.relations.latest import Latest, Posted, Turn
from weft.kernels.relations.tables import NEVER
from weft.times import BEGINNING

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("v", pa.int64())])
Change = tuple[str | None, int, int, int, bool]  # key in two columns, value, time, is a deletion


def posted(changes: list[Change], complete: int = BEGINNING) -> Posted:
    """Changes that come when all before `complete` had been there."""
    columns = [list(column) for column in zip(*changes, strict=True)] or [[] for _ in range(5)]
    keys, numbers, values, times, gone = columns
    at = np.array(times, np.int64)
    table = pa.table([keys, numbers, values], schema=SCHEMA)
    return Posted(table, at, np.maximum(at, complete), np.array(gone, bool))


def plainly(changes: list[Change]) -> Counter[Any]:
    """Every entry with its life, one key after the other."""
    found: Counter[Any] = Counter()
    for key in {change[:2] for change in changes}:
        last = {change[3]: change for change in changes if change[:2] == key}  # the last of each time
        times = sorted(last)
        for begin, end in zip(times, [*times[1:], NEVER]):
            if not last[begin][4]:
                found[(*last[begin][:3], begin, end)] += 1
    return found


class Told:
    """All lives that were told, those in force by their numbers."""

    def __init__(self) -> None:
        self.over: Counter[Any] = Counter()
        self.there: dict[int, tuple[Any, ...]] = {}

    def take(self, turn: Turn) -> None:
        for row, begin, end, number in zip(rows(turn.old), turn.old.begins, turn.old.ends, turn.ended):
            assert self.there.pop(number) == (*row, begin)
            self.over[(*row, begin, end)] += 1
        for row, begin, end, number in zip(rows(turn.new), turn.new.begins, turn.new.ends, turn.numbers):
            if number < 0:
                self.over[(*row, begin, end)] += 1
            else:
                assert end == NEVER
                assert number not in self.there
                self.there[number] = (*row, begin)

    def all(self) -> Counter[Any]:
        return self.over + Counter((*row, NEVER) for row in self.there.values())


def rows(lives: latest.Lives) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in lives.table.to_pylist()]


def drawn(rng: Random, first: int, count: int) -> list[Change]:
    return [
        (
            rng.choice(["a", "b", None]),
            rng.randrange(2),
            rng.randrange(100),
            first + rng.randrange(10),
            rng.random() < 0.3,
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("few", [0, 4096], ids=["tidied at once", "left"])
def test_every_change_lives_until_the_next_of_its_key(
    seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest, "_FEW", few)
    rng, known, told = Random(seed), Latest(SCHEMA, ["k", "n"]), Told()
    changes: list[Change] = []
    for step in range(6):
        new = drawn(rng, 10 * step, rng.choice([0, 1, 5, 12]))
        changes += new
        told.take(known.settle(posted(new)))
        assert told.all() == plainly(changes)
        assert len(known) == len(told.there)


def test_of_equal_times_the_one_that_came_last_counts() -> None:
    known, told = Latest(SCHEMA, ["k"]), Told()
    told.take(known.settle(posted([("a", 0, 1, 5, False), ("a", 0, 2, 5, True), ("a", 0, 3, 5, False)])))
    assert told.all() == Counter({("a", 0, 3, 5, NEVER): 1})
    told.take(known.settle(posted([("a", 0, 4, 8, False), ("a", 0, 5, 8, True)])))
    assert told.all() == Counter({("a", 0, 3, 5, 8): 1})


def test_a_late_change_counts_unless_its_key_has_changed_since() -> None:
    known, told = Latest(SCHEMA, ["k"], memory=20), Told()
    told.take(known.settle(posted([("a", 0, 1, 5, False), ("b", 0, 1, 9, False), ("c", 0, 1, 9, True)])))
    late: list[Change] = [(key, 0, 2, 7, False) for key in "abcd"]
    told.take(known.settle(posted(late, complete=20)))
    expected = [("a", 0, 1, 5, 20), ("a", 0, 2, 20, NEVER), ("b", 0, 1, 9, NEVER), ("d", 0, 2, 20, NEVER)]
    assert told.all() == Counter(expected)


def test_deletions_are_forgotten() -> None:
    known, told = Latest(SCHEMA, ["k"], memory=10), Told()
    told.take(known.settle(posted([("c", 0, 1, 9, True), ("d", 0, 1, 10, True)])))
    told.take(known.settle(posted([("c", 0, 2, 7, False), ("d", 0, 2, 7, False)], complete=20)))
    assert told.all() == Counter({("c", 0, 2, 20, NEVER): 1})


@pytest.mark.parametrize("seed", range(10))
def test_what_was_kept_goes_on(seed: int) -> None:
    rng = Random(seed)
    changes, more = drawn(rng, 0, 20), drawn(rng, 10, 20)
    known, again = Latest(SCHEMA, ["k", "n"]), Latest(SCHEMA, ["k", "n"])
    known.settle(posted(changes))
    again.settle(Posted.concat([known.entries(), known.deletions()]))
    late = drawn(rng, 0, 5)
    results = []
    for each in (known, again):
        told = Told()
        told.take(each.now())
        told.take(each.settle(posted(more)))
        told.take(each.settle(posted(late, complete=30)))
        results.append(told.all())
    assert results[0] == results[1]


def test_rows_and_keys_that_are_gone_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latest, "_FEW", 8)
    known, sizes = Latest(SCHEMA, ["n"]), []
    for at in range(400):
        new: list[Change] = [("a", at, 0, at, False), ("a", at - 1, 0, at, True), ("b", -1, at, at, False)]
        known.settle(posted(new), at)
        sizes.append(known.nbytes)
    assert len(known) == 2
    assert len(known.deletions()) <= 16
    assert max(sizes[200:]) <= max(sizes[:200])
