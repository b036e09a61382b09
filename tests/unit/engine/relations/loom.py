"""Relations fed by hand, without Spark: rows as level 1 hands them on, watermarks as streams have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from benchmarks.intake import taken_in
from tests.properties.relations import Scenario
from tests.properties.relationtables import TABLES
from weft.engine.relations.editions import Version
from weft.engine.relations.evaluate import schema_of, without_spark
from weft.engine.relations.state import Relations
from weft.engine.windows import Reach
from weft.optimize.pipeline import optimize_program
from weft.plan.nodes import Program, Stream
from weft.share.build import build
from weft.share.nodes import SharedPlan
from weft.share.relations.strategy import Strategy
from weft.testing.harness import bound
from weft.testing.values import micros
from weft.times import BEGINNING, Instant


class Loom:
    """A program of relations, and all that it has told."""

    def __init__(
        self,
        program: Program,
        bounds: Mapping[str, Instant] | None = None,
        strategy: Strategy = Strategy.PATTERNS,
    ) -> None:
        self.program, self.plan = program, build(program)
        self.relations = Relations(without_spark, strategy)
        self.relations.adopt(self.plan, program, bounds or {})
        self.batches = 0
        self.latest: dict[str, Instant] = {}
        self.first: dict[str, Instant] = {}
        self.reach: dict[str, Reach] = {stream.name: Reach() for stream in program.streams}
        self.told: dict[str, list[pa.Table]] = {query.name: [] for query in program.queries}
        self._versions = 0
        for table in program.tables:
            self.revise(table.name, schema_of(table.columns).empty_table())

    @classmethod
    def of(cls, made: Scenario, strategy: Strategy = Strategy.PATTERNS) -> Loom:
        return cls(optimize_program(bound(made.text)), strategy=strategy)

    def feed(self, stream: str, rows: pa.Table) -> None:
        """One batch, and what it tells."""
        self.take_in(stream, rows)
        self.step()

    def revise(self, table: str, rows: pa.Table) -> None:
        """All rows of a table from now on: those that come after all that have come see them."""
        since = max(self.latest.values(), default=BEGINNING)
        self.relations.revise(table, Version(self._versions, since, rows, rows.num_rows))
        self._versions += 1

    def take_in(self, stream: str, rows: pa.Table) -> None:
        made = level1(self.plan, stream, rows)
        if made is not None:
            self.fold(stream, made)
        self.batches += 1
        if rows.num_rows:
            times = [micros(at) for at in rows.column("at").to_pylist()]
            self.latest[stream] = max(self.latest.get(stream, BEGINNING), *times)
            self.first[stream] = min([*times, self.first.get(stream, min(times))])
            delay = self._stream(stream).statement.delay
            self.reach[stream] = replace(self.reach[stream], watermark=self.latest[stream] - delay)

    def fold(self, stream: str, rows: pa.Table) -> None:
        self.relations.fold(stream, self.batches, rows)

    def step(self) -> None:
        for name, table in self.relations.answer(self.reach, self.latest, self.first).items():
            self.told[name].append(table)

    def drain(self) -> None:
        """As if all streams had ended."""
        self.reach = {
            name: replace(at, drained=self.latest.get(name, BEGINNING)) for name, at in self.reach.items()
        }
        self.step()

    def results(self, names: Iterable[str] | None = None) -> dict[str, pa.Table]:
        """What was told of these queries; None: of all."""
        asked = list(self.told if names is None else names)
        return {name: pa.concat_tables([self.empty(name), *self.told[name]]) for name in asked}

    def empty(self, name: str) -> pa.Table:
        top = self.relations.graph.tops[name]
        return top.telling.schema.empty_table()

    def _stream(self, name: str) -> Stream:
        return next(stream for stream in self.program.streams if stream.name == name)


def fed(
    made: Scenario,
    feeds: Iterable[tuple[str, pa.Table]] | None = None,
    strategy: Strategy = Strategy.PATTERNS,
) -> Loom:
    """A program that was told of all its rows, batch by batch, and that there are no more."""
    loom = Loom.of(made, strategy)
    for name, rows in made.read if feeds is None else feeds:
        if name in TABLES:
            loom.revise(name, rows)
        else:
            loom.feed(name, rows)
    loom.drain()
    return loom


def resume(after: Loom, before: Loom, feeds: Sequence[tuple[str, pa.Table]]) -> None:
    """Bring one to where another was after these batches, as after a restart from a snapshot."""
    saved = before.relations.save()
    after.relations.restore(saved.get, before.reach)
    for batch, (stream, rows) in enumerate(feeds):
        if (intake := level1(after.plan, stream, rows)) is not None:
            after.relations.refill(stream, batch, intake)
    after.relations.refilled(before.reach, before.latest, before.first)
    after.batches, after.reach = len(feeds), before.reach
    after.latest, after.first = before.latest, before.first
    after.told = before.told


def level1(plan: SharedPlan, stream: str, rows: pa.Table) -> pa.Table | None:
    """The rows of a batch that relations are made of, evaluated by the kernels instead of Spark."""
    found = next((each for each in plan.streams if each.stream.name == stream), None)
    if found is None or found.intake is None or not rows.num_rows:
        return None
    return taken_in(found, rows)
