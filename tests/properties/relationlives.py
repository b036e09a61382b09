"""Programs of relations that are stopped, started again and changed on their way."""

from __future__ import annotations

from random import Random
from typing import Protocol

import pyarrow as pa

from tests.properties.relations import Scenario, truth
from tests.properties.relationtables import TABLES
from tests.properties.relationtruth import DuckTruth, Row
from weft.engine.runtime import Runtime
from weft.plan.relations import Emitted
from weft.plan.relationtree import is_windowed, streams
from weft.testing.harness import Adapter
from weft.testing.lives import relation_difference
from weft.testing.values import micros, rows_of
from weft.times import BEGINNING, Instant


class Stoppable(Adapter, Protocol):
    """What goes on where it was when it is started again."""

    runtime: Runtime

    def stop(self) -> None: ...


def told_later(
    known: DuckTruth, relation: Emitted, adapter: Stoppable, name: str, seen: Instant
) -> list[Row]:
    """What is to be told of a query that was added after rows up to `seen` had come.

    Of whole windows what begins after that; where these are not in the log, of rows that come after it.
    """
    if not adapter.runtime.running[name].whole:
        return known.told(relation, after=dict.fromkeys(streams(relation), seen))
    windowed = is_windowed(relation.source)
    return [row for row in known.told(relation) if micros(row[windowed]) - windowed > seen]


def stopped(made: Scenario, adapter: Stoppable, rng: Random) -> dict[str, pa.Table]:
    """All that is told by a program that is stopped now and then, and after its end."""
    adapter.start(made.text)
    for name, rows in made.read:
        if name in TABLES:
            adapter.revise(name, rows)
        else:
            adapter.ingest(name, rows)
        if rng.random() < 0.4:
            _restart(adapter, made)
    adapter.drain(None)
    _restart(adapter, made)
    return {name: adapter.results(name) for name, _ in made.queries}


def changed(made: Scenario, adapter: Stoppable, rng: Random) -> dict[str, str]:
    """What is wrong with queries after one was added and another dropped, with stops in between.

    The first query stays. The last is added after a third of the batches, and sees what comes after the
    greatest event time of then; the second is dropped after two thirds.
    """
    first, gone, *rest = (name for name, _ in made.queries)
    in_turn = [made.only(first, gone, *rest[:-1]), made, made.only(first, *rest)]
    latest: dict[str, Instant] = {}
    bounds: dict[str, Instant] = {}
    adapter.start(in_turn[0].text)
    for at, (stream, batch) in enumerate(made.feeds):
        phase = 3 * at // len(made.feeds)
        if at and phase > 3 * (at - 1) // len(made.feeds):
            adapter.change(in_turn[phase].text)
            bounds = dict(latest) if phase == 1 else bounds
        if any(stream in streams(relation) for relation in in_turn[phase].relations.values()):
            adapter.ingest(stream, batch)
            for time in batch.column("at").to_pylist():
                latest[stream] = max(micros(time), latest.get(stream, BEGINNING))
        if rng.random() < 0.3:
            _restart(adapter, in_turn[phase])
    adapter.drain(None)
    return _wrong(made.only(first, *rest), adapter, rest[-1], bounds)


def _wrong(made: Scenario, adapter: Stoppable, added: str, latest: dict[str, Instant]) -> dict[str, str]:
    known = truth(made)
    differences = {}
    for name, relation in made.relations.items():
        seen = [latest[stream] for stream in streams(relation) if stream in latest]
        late = seen and name == added
        expected = told_later(known, relation, adapter, name, max(seen)) if late else known.told(relation)
        differences[name] = relation_difference(relation, expected, rows_of(adapter.results(name)))
    return {name: text for name, text in differences.items() if text}


def _restart(adapter: Stoppable, made: Scenario) -> None:
    adapter.stop()
    adapter.start(made.text)
