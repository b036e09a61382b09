"""What a program holds of relations: a cache of the rows in the log, as everything in memory is.

Rows are folded as batches come, and what they change is told when a step says how far the streams are
complete. After a restart the rows that are still in some window are read from the log again; what they had
told before is not told once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from weft.engine.relations.correcting import Correcting
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.graph import Graph
from weft.engine.relations.strategy import Strategy
from weft.engine.windows import Reach
from weft.lang.bodies import Emission
from weft.plan.nodes import Stream
from weft.plan.relations import Emitted
from weft.plan.relationtree import last_end, reach_back, streams
from weft.share.nodes import SharedPlan, Woven
from weft.times import BEGINNING, Duration, Instant

SAVED = "relation:"  # begins the names of its tables in a snapshot


class Relations:
    """The relations of a program that runs."""

    def __init__(self, finisher: Finisher, strategy: Strategy = Strategy.PATTERNS) -> None:
        self._finisher, self._strategy = finisher, strategy
        self._graph = Graph(finisher, strategy)
        self._early = Graph(finisher, strategy)  # of queries that tell changes before they are certain
        self._correcting: dict[str, Correcting] = {}
        self._related: tuple[Woven, ...] = ()
        self._declared: dict[str, Stream] = {}
        self._bounds: dict[str, Instant] = {}
        self._drained: dict[str, Instant] = {}  # streams of which all has been told up to some time

    def adopt(self, plan: SharedPlan, declared: Iterable[Stream], bounds: Mapping[str, Instant]) -> None:
        """Go on with the queries of this plan; `bounds`: some of them see only rows after some time."""
        self._related, self._declared = plan.related, {stream.name: stream for stream in declared}
        self._bounds = dict(bounds)
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
                self._bounds.get(each.query.name, BEGINNING),
                *(self._drained.get(stream, BEGINNING) for stream in streams(each.relation)),
            )
            for each in self._related
        }

    def __bool__(self) -> bool:
        return bool(self._related)

    def fold(self, stream: str, rows: pa.Table) -> None:
        """Take in the rows of a batch."""
        self._graph.feed(stream, rows)
        self._early.feed(stream, rows)

    def answer(self, reach: Mapping[str, Reach], latest: Mapping[str, Instant]) -> dict[str, pa.Table]:
        """What is new of each query now that the streams have come so far; `latest`: their greatest times."""
        if not self._related:
            return {}
        drained = {name: at.drained for name, at in reach.items() if at.drained > BEGINNING}
        if all(at <= self._drained.get(name, BEGINNING) for name, at in drained.items()):
            complete = {name: at.watermark for name, at in reach.items()}
            ahead = {name: max(at, latest.get(name, BEGINNING - 1) + 1) for name, at in complete.items()}
            return self._advance(complete, ahead)
        end = dict.fromkeys(reach, max(drained.values()) + self.longest + 1)
        answers = self._advance(end, end)
        self._drained |= drained
        self._graph = Graph(self._finisher, self._strategy)
        self._early = Graph(self._finisher, self._strategy)
        self._adopt()
        complete = {name: at.watermark for name, at in reach.items()}
        self._advance(complete, complete)
        return answers

    def _advance(self, complete: Mapping[str, Instant], ahead: Mapping[str, Instant]) -> dict[str, pa.Table]:
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
        times: list[Instant] = []
        for each in self._related:
            read = streams(each.relation)
            if stream in read:
                back = reach_back(each.relation)
                complete = min(reach[name].watermark if name in reach else BEGINNING for name in read)
                times.append(BEGINNING if back is None or complete == BEGINNING else complete - back)
        return min(times, default=None)

    def save(self) -> dict[str, pa.Table]:
        """What is not in the log, as tables of a snapshot."""
        saved = self._graph.save() | {name: each.save() for name, each in self._correcting.items()}
        return {SAVED + name: table for name, table in saved.items()}

    def restore(self, saved: Callable[[str], pa.Table | None], reach: Mapping[str, Reach]) -> None:
        """Go on from a snapshot: before the rows are read again."""
        complete = {name: at.watermark for name, at in reach.items()}
        self._graph.restore(lambda name: saved(SAVED + name), complete)
        for name, each in self._correcting.items():
            if (table := saved(SAVED + name)) is not None:
                each.restore(table)

    @property
    def rows(self) -> int:
        return self._graph.rows + self._early.rows

    @property
    def nbytes(self) -> int:
        return self._graph.nbytes + self._early.nbytes

    @property
    def graph(self) -> Graph:
        return self._graph


def _tells_early(woven: Woven) -> bool:
    return isinstance(woven.relation, Emitted) and woven.relation.emission is Emission.CHANGES
