"""What a program holds of relations: a cache of the rows in the log, as everything in memory is.

Rows are folded as batches come, and what they change is told when a step says how far the streams are
complete. After a restart the rows that are still in some window are read from the log again; what they had
told before is not told once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from weft.engine.relations.arrivals import Arrivals, Standing
from weft.engine.relations.correcting import Correcting
from weft.engine.relations.editions import Tables, Version
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.graph import Graph
from weft.engine.windows import Reach
from weft.lang.bodies import Emission
from weft.plan.lookups import passes_on
from weft.plan.nodes import Program, Stream
from weft.plan.relations import Emitted
from weft.plan.relationtree import last_end, reach_back, streams, tables
from weft.share.nodes import SharedPlan, Woven
from weft.share.relations.strategy import Strategy
from weft.times import BEGINNING, Duration, Instant

SAVED = "relation:"  # begins the names of its tables in a snapshot
ARRIVALS = "arrivals"


class Relations:
    """The relations of a program that runs."""

    def __init__(self, finisher: Finisher, strategy: Strategy = Strategy.PATTERNS) -> None:
        self._strategy = strategy
        self._finisher, self._tables = finisher, Tables()
        self._graph = Graph(finisher, self._tables, strategy)
        self._early = Graph(
            finisher, self._tables, strategy
        )  # of queries that tell changes before they are certain
        self._correcting: dict[str, Correcting] = {}
        self._related: tuple[Woven, ...] = ()
        self._declared: dict[str, Stream] = {}
        self._bounds: dict[str, Instant] = {}
        self._drained: dict[str, Instant] = {}  # streams of which all has been told up to some time
        self._standing: dict[str, Standing] = {}  # how far streams were in the last step
        self.arrivals = Arrivals()

    def adopt(self, plan: SharedPlan, program: Program, bounds: Mapping[str, Instant]) -> None:
        """Go on with the queries of this plan; `bounds`: some of them see only rows after some time."""
        self._related, self._declared = plan.related, {stream.name: stream for stream in program.streams}
        self._bounds = dict(bounds)
        self._tables.declare(program.tables)
        self._adopt()

    def _adopt(self) -> None:
        bounds = self._all_bounds()
        self._graph.adopt(self._related, self._declared, bounds)
        early = [each for each in self._related if _tells_early(each)]
        self._early.adopt(early, self._declared, bounds)
        known = self._correcting
        self._correcting = {
            each.query.name: known.get(each.query.name) or Correcting(each.relation)
            for each in early
            if isinstance(each.relation, Emitted)
        }

    def _all_bounds(self) -> dict[str, Instant]:
        """With a drain all was told that its rows would ever give: what comes later begins anew."""
        return {
            each.query.name: max(
                [
                    self._bounds.get(each.query.name, BEGINNING),
                    *(self._drained.get(stream, BEGINNING) for stream in streams(each.relation)),
                ]
            )
            for each in self._related
        }

    def __bool__(self) -> bool:
        return bool(self._related)

    def fold(self, stream: str, batch: int, rows: pa.Table) -> None:
        """Take in the rows of a batch."""
        self.arrivals.note(stream, batch, self._standing.get(stream, Standing()))
        self._feed(stream, rows)

    def _feed(self, stream: str, rows: pa.Table) -> None:
        self._graph.feed(stream, rows)
        self._early.feed(stream, rows)

    def revise(self, table: str, version: Version) -> None:
        """Take in the next version of a table."""
        self._tables.put(table, version)
        self._graph.revise(table, version)
        self._early.revise(table, version)

    def forget(self, reach: Mapping[str, Reach]) -> None:
        """Let go of versions of tables that no query would need that is added now."""
        for table in self._tables.names():
            self._tables.forget(table, self.seen_from(table, reach))

    def answer(self, reach: Mapping[str, Reach], latest: Mapping[str, Instant]) -> dict[str, pa.Table]:
        """What is new of each query now that the streams have come so far; `latest`: their greatest times."""
        if not self._related:
            return {}
        drained = {name: at.drained for name, at in reach.items() if at.drained > BEGINNING}
        if all(at <= self._drained.get(name, BEGINNING) for name, at in drained.items()):
            return self._advance(*_times(reach, latest))
        end = dict.fromkeys(reach, max(drained.values()) + self.longest + 1)
        self._graph.end(drained)
        self._early.end(drained)
        answers = self._advance(end, end)
        self._drained |= drained
        self._graph, self._early = (Graph(self._finisher, self._tables, self._strategy) for _ in range(2))
        self._adopt()
        complete = {name: at.watermark for name, at in reach.items()}
        self._advance(complete, complete)
        return answers

    def _advance(self, complete: Mapping[str, Instant], ahead: Mapping[str, Instant]) -> dict[str, pa.Table]:
        self._standing |= {name: Standing(at, ahead[name]) for name, at in complete.items()}
        final, early = self._graph.advance(complete), self._early.advance(ahead)
        tables = dict(final.tables)
        for name, (changes, upto) in final.changes.items():
            table = self._correcting[name].answers(early.changes[name][0], changes, upto)
            if table.num_rows:
                tables[name] = table
        return tables

    def waits(self, reach: Mapping[str, Reach]) -> bool:
        """Is anything held that streams which have come so far would let go, or tell?"""
        complete = {name: at.watermark for name, at in reach.items()}
        return self._graph.waits(complete)

    def failed(self) -> dict[str, int]:
        """On how many rows an expression of each query failed since this was last asked."""
        return self._graph.failed()

    def late(self) -> dict[str, int]:
        """How many rows came too late for each query since this was last asked."""
        return self._graph.late()

    @property
    def longest(self) -> Duration:
        """How long after the last row something may still end."""
        return max((last_end(each.relation) for each in self._related), default=0)

    def needed_from(self, stream: str, reach: Mapping[str, Reach]) -> Instant | None:
        """No row of a stream before this time is needed after a restart; None: of this stream none is."""
        reading = [each for each in self._related if stream in streams(each.relation)]
        return min((_looks_back_to(each, reach) for each in reading), default=None)

    def seen_from(self, table: str, reach: Mapping[str, Reach]) -> Instant:
        """No row before this time will be held against a table, be it new or read again after a restart."""
        times = [_looks_back_to(each, reach) for each in self._related if table in tables(each.relation)]
        return min([*times, *(at.watermark for at in reach.values())], default=BEGINNING)

    def save(self) -> dict[str, pa.Table]:
        """What is not in the log, as tables of a snapshot."""
        saved = self._graph.save() | {name: each.save() for name, each in self._correcting.items()}
        saved[ARRIVALS] = self.arrivals.save()
        return {SAVED + name: table for name, table in saved.items()}

    def restore(self, saved: Callable[[str], pa.Table | None], reach: Mapping[str, Reach]) -> None:
        """Go on from a snapshot: before the rows are read again."""
        self._drained = {name: at.drained for name, at in reach.items() if at.drained > BEGINNING}
        self._adopt()
        if (arrivals := saved(SAVED + ARRIVALS)) is not None:
            self.arrivals.restore(arrivals)
        self._graph.restore(lambda name: saved(SAVED + name))
        for name, each in self._correcting.items():
            if (table := saved(SAVED + name)) is not None:
                each.restore(table)

    def refill(self, stream: str, batch: int, rows: pa.Table) -> None:
        """Take in the rows of a batch again, each as late as it was."""
        complete, ahead = self.arrivals.of(stream, batch)
        self._graph.stand(stream, complete)
        self._early.stand(stream, ahead)
        self._feed(stream, rows)

    def refilled(self, reach: Mapping[str, Reach], latest: Mapping[str, Instant]) -> None:
        """All rows of before the snapshot are back: what they tell was told, and is not told again."""
        complete, ahead = _times(reach, latest)
        self._standing |= {name: Standing(at, ahead[name]) for name, at in complete.items()}
        self._graph.advance(complete)
        self._early.advance(ahead)

    @property
    def rows(self) -> int:
        return self._graph.rows + self._early.rows

    @property
    def nbytes(self) -> int:
        return self._graph.nbytes + self._early.nbytes

    @property
    def graph(self) -> Graph:
        return self._graph


def _times(
    reach: Mapping[str, Reach], latest: Mapping[str, Instant]
) -> tuple[dict[str, Instant], dict[str, Instant]]:
    """Before when streams are complete, and before when they have been heard of."""
    complete = {name: at.watermark for name, at in reach.items()}
    return complete, {name: max(at, latest.get(name, BEGINNING - 1) + 1) for name, at in complete.items()}


def _tells_early(woven: Woven) -> bool:
    return isinstance(woven.relation, Emitted) and woven.relation.emission is Emission.CHANGES


def _looks_back_to(each: Woven, reach: Mapping[str, Reach]) -> Instant:
    """The time before which no row matters to a query any more; one of tables alone is as far as any."""
    back = 0 if passes_on(each.relation) else reach_back(each.relation)
    own = [reach[name].watermark if name in reach else BEGINNING for name in streams(each.relation)]
    complete = min(own or [max((at.watermark for at in reach.values()), default=BEGINNING)])
    return BEGINNING if back is None or complete == BEGINNING else complete - back
