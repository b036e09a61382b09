"""Rows beside the entries of a table, against a loop over all rows and versions that there were."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.engine.tabled import (
    Entry,
    History,
    Row,
    bag,
    batch,
    entries,
    intake,
    made,
    program,
    sql,
    table,
    told,
)
from tests.unit.engine.tabled import rows as quotes
from weft.engine.relations.editions import Version
from weft.engine.relations.state import Relations
from weft.engine.windows import Reach
from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.plan.nodes import Program
from weft.plan.relations import Distinct, Emitted, Merged, Paired, Whether
from weft.share.build import build
from weft.times import BEGINNING, SECOND

ON = sql("_s0_k = _s1_k")
WIDER = sql("_s0_k = _s1_k AND _s0_v > _s1_w")


def key(row: Row, entry: Entry) -> bool:
    return row[0] is not None and row[0] == entry[0]


def wider(row: Row, entry: Entry) -> bool:
    return key(row, entry) and row[1] > entry[1]


class Live:
    """Relations at work, and beside them their history."""

    def __init__(self, made_of: Program) -> None:
        self.relations, self.history = Relations(lambda jobs: []), History()
        self.plan = build(made_of)
        self.relations.adopt(self.plan, made_of, {})
        self.batches = 0
        self.answers: dict[str, list[tuple[Any, ...]]] = {query.name: [] for query in made_of.queries}
        self.found: dict[str, list[pa.Table]] = {query.name: [] for query in made_of.queries}
        self.greatest: int | None = None

    def revise(self, found: list[Entry]) -> None:
        since = self.greatest if self.history.versions else None
        now, number = table(found), len(self.history.versions)
        self.history.versions.append((since, found))
        at = BEGINNING if since is None else since * SECOND
        self.relations.revise("names", Version(number, at, now, now.num_rows))

    def feed(self, given: list[Row]) -> None:
        (stream,) = [one for one in self.plan.streams if one.stream.name == "quotes"]
        self.batches += 1
        self.relations.fold("quotes", self.batches, intake(stream, batch(given)))
        self.history.rows += given
        self.greatest = max([row[2] for row in given] + ([] if self.greatest is None else [self.greatest]))

    def answer(self, upto: int) -> None:
        reach = {"quotes": Reach(upto * SECOND)}
        latest = BEGINNING if self.greatest is None else self.greatest * SECOND
        for name, found in self.relations.answer(reach, {"quotes": latest}).items():
            self.answers[name] += told(found)
            self.found[name].append(found)
        self.relations.forget(reach)


def run(live: Live, seed: int) -> int:
    """Rows out of order by up to 3 seconds, cut anyhow, with versions in between; tells the watermark."""
    rng = random.Random(seed)
    live.revise(some(rng))
    now = 100
    for _ in range(rng.randint(3, 8)):
        if rng.random() < 0.6:
            live.revise(some(rng))
        given = []
        for _ in range(rng.randint(1, 5)):
            now += rng.choice([0, 0, 1, 2, 5])
            given.append((rng.choice(["a", "b", "c", None]), rng.randint(0, 3), now - rng.randint(0, 3)))
        given[-1] = (*given[-1][:2], now)
        live.feed(given)
        if rng.random() < 0.7:
            live.answer(now - 3)
    live.answer(now - 3)
    return now - 3


def some(rng: random.Random) -> list[Entry]:
    return [(rng.choice(["a", "b", "c", None]), rng.randint(0, 2)) for _ in range(rng.randint(0, 4))]


Pairs = Callable[[Row, list[Entry]], Iterable[tuple[Any, ...]]]


def inner(row: Row, found: list[Entry]) -> Iterable[tuple[Any, ...]]:
    return [(*row[:2], *entry) for entry in found if wider(row, entry)]


def left(row: Row, found: list[Entry]) -> Iterable[tuple[Any, ...]]:
    return list(inner(row, found)) or [(*row[:2], None, None)]


def turned(row: Row, found: list[Entry]) -> Iterable[tuple[Any, ...]]:
    return [(*found_[2:], *found_[:2]) for found_ in left(row, found)]


def semi(row: Row, found: list[Entry]) -> Iterable[tuple[Any, ...]]:
    return [row[:2]] if any(key(row, entry) for entry in found) else []


def anti(row: Row, found: list[Entry]) -> Iterable[tuple[Any, ...]]:
    return [] if any(key(row, entry) for entry in found) else [row[:2]]


LOOKUPS: dict[str, tuple[Paired | Whether, Pairs]] = {
    "inner_": (Paired(JoinKind.INNER, quotes(), entries(), WIDER), inner),
    "left_": (Paired(JoinKind.LEFT, quotes(), entries(), WIDER), left),
    "right_": (Paired(JoinKind.RIGHT, entries(), quotes(), WIDER), turned),
    "semi_": (Whether(quotes(), entries(), ON, False), semi),
    "anti_": (Whether(quotes(), entries(), ON, True), anti),
}


@pytest.mark.parametrize("seed", range(20))
def test_rows_see_the_version_in_force_at_their_own_time(seed: int) -> None:
    live = Live(program(**{name: made(relation) for name, (relation, _) in LOOKUPS.items()}))
    run(live, seed)
    for name, (_, match) in LOOKUPS.items():
        assert Counter(live.answers[name]) == live.history.lookups(match), name


def pairs(alive: list[Row], found: list[Entry]) -> Iterable[Any]:
    return [(*row[:2], *entry) for row in alive for entry in found if wider(row, entry)]


def full(alive: list[Row], found: list[Entry]) -> Iterable[Any]:
    both = list(pairs(alive, found))
    alone = [(*row[:2], None, None) for row in alive if not any(wider(row, each) for each in found)]
    others = [(None, None, *each) for each in found if not any(wider(row, each) for row in alive)]
    return both + alone + others


def absent(alive: list[Row], found: list[Entry]) -> Iterable[Any]:
    return [row[:2] for row in alive if not any(key(row, each) for each in found)]


def without(alive: list[Row], found: list[Entry]) -> Iterable[Any]:
    return sorted({row[:2] for row in alive} - set(found), key=repr)


def different(alive: list[Row], found: list[Entry]) -> Iterable[Any]:
    return sorted(set(found), key=repr)


TABLE = entries(retroactive=True)
REVISED = {
    "inner_": (Paired(JoinKind.INNER, quotes(), TABLE, WIDER), pairs),
    "full_": (Paired(JoinKind.FULL, quotes(), TABLE, WIDER), full),
    "anti_": (Whether(quotes(), TABLE, ON, True), absent),
    "except_": (Merged(SetKind.EXCEPT, False, quotes(), TABLE), without),
    "distinct_": (Distinct(TABLE), different),
}


@pytest.mark.parametrize("seed", range(20))
def test_retroactive_tables_revise_what_was_answered(seed: int) -> None:
    wanted = {name: made(relation, Emission.CHANGES) for name, (relation, _) in REVISED.items()}
    live = Live(program(**wanted))
    upto = run(live, seed)
    for name, (_, join) in REVISED.items():
        for at in range(90, upto):
            assert bag(live.answers[name], at) == live.history.asof(at, join), (name, at)


def golab(**relations: Emitted) -> Live:
    """Golab (2006), 3.3.1: quotes in a window of 10; IBM has a name until 4, SUN from 2 on."""
    live = Live(program(**relations))
    rows: list[Row] = [("SUN", 1, 1), ("IBM", 3, 3), ("SUN", 6, 6)]
    versions = [(1, ["IBM", "SUN"]), (3, ["SUN"])]  # in force after the last row before, so at 2 and at 4
    live.revise([("IBM", 0)])
    for row in rows:
        live.feed([row])
        live.answer(row[2])
        for since, names in versions:
            if since == row[2]:
                live.revise([(name, 0) for name in names])
    live.answer(30)
    return live


def test_updates_of_a_table_that_is_looked_up_are_not_seen_by_rows_before() -> None:
    live = golab(q=made(Paired(JoinKind.INNER, quotes(), entries(), ON)))
    assert live.answers["q"] == [(3, 13, "IBM", 3, "IBM", 0), (6, 16, "SUN", 6, "SUN", 0)]


def test_updates_of_a_retroactive_table_revise_answers() -> None:
    live = golab(q=made(Paired(JoinKind.INNER, quotes(), TABLE, ON), Emission.CHANGES))
    sun1, ibm3, sun6 = ("SUN", 1, "SUN", 0), ("IBM", 3, "IBM", 0), ("SUN", 6, "SUN", 0)
    assert sorted(live.answers["q"], key=lambda each: each[1]) == [
        ("+", 2, *sun1), ("+", 3, *ibm3), ("-", 4, *ibm3), ("+", 6, *sun6), ("-", 11, *sun1), ("-", 16, *sun6)
    ]  # fmt: skip
