"""Programs of relations whose queries come and go on their way, with stops in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from tests.properties.asks import Asked, Beside, Over, Pick
from tests.properties.relationlives import Stoppable, told_later
from tests.properties.relations import Scenario, truth
from weft.lang.bodies import Emission
from weft.plan.relationtree import streams
from weft.testing.lives import relation_difference
from weft.testing.values import micros, rows_of
from weft.times import BEGINNING, Duration, Instant


@dataclass
class Changing:
    """A program under way: which of its queries run, and what those that came later see."""

    made: Scenario
    adapter: Stoppable
    running: list[str]
    latest: dict[str, Instant] = field(default_factory=dict)
    seen: dict[str, Instant] = field(default_factory=dict)

    def start(self) -> None:
        self.adapter.start(self.made.only(*self.running).text)

    def toggle(self, name: str) -> None:
        """Drop a query, or add it."""
        if name in self.running:
            self.running.remove(name)
        else:
            self.running.append(name)
            read = streams(self.made.relations[name])
            self.seen[name] = max(self.latest.get(stream, BEGINNING) for stream in read)
        self.adapter.change(self.made.only(*self.running).text)

    def ingest(self, at: int) -> None:
        stream, batch = self.made.feeds[at]
        relations = self.made.only(*self.running).relations
        if any(stream in streams(relation) for relation in relations.values()):
            self.adapter.ingest(stream, batch)
            for time in batch.column("at").to_pylist():
                self.latest[stream] = max(micros(time), self.latest.get(stream, BEGINNING))

    def wrong(self) -> dict[str, str]:
        """What is told otherwise than is true, of the queries that run at the end."""
        known = truth(self.made)
        found = {}
        for name, relation in self.made.only(*self.running).relations.items():
            seen = self.seen.get(name, BEGINNING)
            later = seen > BEGINNING
            expected = (
                told_later(known, relation, self.adapter, name, seen) if later else known.told(relation)
            )
            found[name] = relation_difference(relation, expected, rows_of(self.adapter.results(name)))
        return {name: text for name, text in found.items() if text}


def come_and_go(
    made: Scenario, adapter: Stoppable, rng: Random, watch: Callable[[], None] = lambda: None
) -> dict[str, str]:
    """What is wrong with queries, all but the first of which come and go; `watch` after each batch."""
    first, *others = (name for name, _ in made.queries)
    program = Changing(made, adapter, [first, *(name for name in others if rng.random() < 0.5)])
    program.start()
    for at in range(len(made.feeds)):
        if others and rng.random() < 0.4:
            program.toggle(rng.choice(others))
        program.ingest(at)
        watch()
        if rng.random() < 0.2:
            adapter.stop()
            program.start()
    adapter.drain(None)
    return program.wrong()


def joins(made: Scenario, rng: Random, count: int) -> Scenario:
    """The same rows under joins that differ in windows, conditions, columns and the order of sides."""
    unit = max(_span(made) // 15, 1)
    return replace(made, queries=tuple((f"q{number}", _join(rng, unit)) for number in range(count)))


def vouched(made: Scenario) -> Scenario:
    """The same after a join of all columns in long windows, so that the log holds what others need."""
    read = list(dict.fromkeys(stream for stream, _ in made.feeds))
    first, *others = (Over(stream, max(_span(made) // 3, 1)) for stream in read)
    beside = tuple(Beside(each, f"x0.k = x{at}.k AND x0.v < x{at}.v") for at, each in enumerate(others, 1))
    items = tuple(f"x{at}.{name}" for at, _ in enumerate(read) for name in ("k", "v", "w"))
    return replace(made, queries=(("wide", Asked(Pick(first, beside, items=items))), *made.queries))


def in_small_batches(made: Scenario, rng: Random) -> Scenario:
    """The same rows in the same order, a few at a time."""
    feeds = []
    for stream, rows in made.feeds:
        at = 0
        while at < rows.num_rows:
            size = rng.choice([1, 2, 3, 5])
            feeds.append((stream, rows.slice(at, size)))
            at += size
    return replace(made, feeds=tuple(feeds))


def _span(made: Scenario) -> Duration:
    """From the first event time to the last."""
    times = [micros(time) for _, rows in made.feeds for time in rows.column("at").to_pylist()]
    return max(times) - min(times)


def _join(rng: Random, unit: int) -> Asked:
    one, other = rng.sample([Over(name, unit * rng.choice([1, 2, 3, 5, 8, 12])) for name in "ab"], 2)
    on = rng.choice(["x0.k = x1.k", "x1.k = x0.k", "x0.k = x1.k AND x0.v <> x1.v"])
    wheres = [None, None, "x0.v >= 1", "x1.v >= 1", "x0.w IS NULL AND x1.v = 1"]
    items = tuple(rng.sample(["x0.k", "x0.v", "x0.w", "x1.v", "x1.w", "x0.v + 1"], rng.choice([1, 2, 3])))
    body = Pick(one, (Beside(other, on),), rng.choice(wheres), (), items)
    kind = rng.random()
    if kind < 0.15:
        return Asked(replace(body, distinct=True))
    if kind < 0.3:
        return Asked(replace(body, slide=unit * rng.choice([1, 2, 3])))
    if kind < 0.45:
        return Asked(replace(body, items=(), keys=("x0.k",), calls=(("count_star", ""), ("sum", "x1.v"))))
    return Asked(body, rng.choice([Emission.LIVES] * 3 + [Emission.ISTREAM, Emission.DSTREAM]))
