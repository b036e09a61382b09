"""What a program holds of relations: a cache of the rows in the log, as everything in memory is.

Rows are folded as batches come, and what they change is told when a step says how far the streams are
complete. After a restart the rows that are still in some window are read from the log again; what they had
told before is not told once more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import pyarrow as pa

from weft.engine.relations.arrivals import Arrivals, Standing
from weft.engine.relations.correcting import Correcting
from weft.engine.relations.deriving import Deriving
from weft.engine.relations.editions import Tables, Version
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.flows import Flows
from weft.engine.relations.graph import Graph, name_of
from weft.engine.relations.parting import RowsBy, all_rows
from weft.engine.relations.whole import Vouching, looks_back_to, needed_from, types_of
from weft.engine.windows import Reach
from weft.lang.bodies import Emission
from weft.plan.nodes import Program, Related, Stream, Table
from weft.plan.relations import Emitted, Relation
from weft.plan.relationtree import last_end, streams, tables
from weft.share.intakes import leaves
from weft.share.model.forecast import Basis
from weft.share.nodes import SharedPlan, Woven
from weft.share.relations.strategy import Strategy
from weft.times import BEGINNING, Duration, Instant

SAVED = "relation:"  # begins the names of its tables in a snapshot
ARRIVALS = "arrivals"
_CORRECTED = "corrected "  # begins those with what a query told early: any word may be the name of one


class Relations:
    """The relations of a program that runs."""

    def __init__(self, finisher: Finisher, strategy: Strategy = Strategy.PATTERNS) -> None:
        self._strategy = strategy
        self._finisher, self._tables = finisher, Tables()
        self._flows, self._early_flows = Flows(), Flows("early flow")
        self._drained: dict[str, Instant] = {}  # streams of which all has been told up to some time
        self.settled = BEGINNING  # what tables held up to this time was told with a drain
        self._begin()
        self._correcting: dict[str, Correcting] = {}
        self._related: tuple[Woven, ...] = ()
        self._declared: dict[str, Stream] = {}
        self._bounds: dict[str, Instant] = {}
        self._tells_after: dict[str, Instant] = {}
        self._deriving: dict[str, Deriving] = {}  # what queries ask that begin whole
        self._basis: Basis | None = None
        self._standing: dict[str, Standing] = {}  # how far streams were in the last step
        self.arrivals = Arrivals()

    def _begin(self) -> None:
        """Hold nothing; what was told of tables is not told again."""
        made = self._finisher, self._tables, self._strategy
        self._graph = Graph(*made, self._flows, self.settled)
        # of queries that tell changes before they are certain
        self._early = Graph(*made, self._early_flows, self.settled)

    def adopt(
        self,
        plan: SharedPlan,
        program: Program,
        bounds: Mapping[str, Instant],
        whole: Collection[str] = (),
        basis: Basis | None = None,
    ) -> None:
        """Go on with the queries of this plan; `bounds`: some of them see only rows after some time.

        Those that are `whole` see all rows, and only what they tell begins then. `basis`: what is known of
        the streams.
        """
        self._related, self._declared = plan.related, {stream.name: stream for stream in program.streams}
        self._bounds = {name: at for name, at in bounds.items() if name not in whole}
        self._tells_after = {name: at for name, at in bounds.items() if name in whole}
        self._basis = basis
        self._tables.declare(program.tables)
        self._declare_flows(program.tables)
        self._adopt()

    def _declare_flows(self, made_of_changes: Iterable[Table]) -> None:
        """Tables of changes; what is told early sees them as far as they have been heard of."""
        self._flows.declare(made_of_changes, self._declared)
        early = made_of_changes if any(map(_tells_early, self._related)) else ()
        for flow in self._early_flows.declare(early, self._declared):
            known = self._flows[flow.table.name]
            flow.restore(known.save(), known.complete, known.settled)

    def _adopt(self) -> None:
        whole = [each for each in self._related if each.query.name in self._tells_after]
        self._deriving = {
            name: Deriving(leaves(whole, name), types_of(stream))
            for name, stream in self._declared.items()
            if any(leaves(whole, name))
        }
        bounds = self._all_bounds()
        self._graph.adopt(self._related, self._declared, bounds, self._tells_after, self._basis)
        early = [each for each in self._related if _tells_early(each)]
        self._early.adopt(early, self._declared, bounds, {}, self._basis)
        self._correcting = {each.query.name: self._corrected(each) for each in early}

    def _corrected(self, each: Woven) -> Correcting:
        """What a query told early: nothing, if it is another than the one that had its name."""
        assert isinstance(each.relation, Emitted)
        assert isinstance(each.query.plan, Related)
        asked = each.query.plan.relation, self._bounds.get(each.query.name, BEGINNING)
        known = self._correcting.get(each.query.name)
        return known if known is not None and known.asked == asked else Correcting(each.relation, asked)

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
        return bool(self._related) or bool(self._flows)

    def fold(self, stream: str, batch: int, rows: pa.Table | RowsBy) -> None:
        """Take in the rows of a batch."""
        self.arrivals.note(stream, batch, self._standing.get(stream, Standing()))
        for flows in (self._flows, self._early_flows):
            if flows and isinstance(rows, pa.Table):
                flows.feed(stream, rows)
        self._feed(stream, rows)

    def _feed(self, stream: str, rows: pa.Table | RowsBy) -> None:
        if isinstance(rows, pa.Table):
            rows = all_rows(self._deriving[stream].filled(rows) if stream in self._deriving else rows)
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
        for flow in (*self._flows, *self._early_flows):
            looking = self._looking_back(flow.table.name, reach)
            flow.forget(min(looking, default=flow.complete))

    def answer(
        self,
        reach: Mapping[str, Reach],
        latest: Mapping[str, Instant],
        first: Mapping[str, Instant] | None = None,
    ) -> dict[str, pa.Table]:
        """What is new of each query now that the streams have come so far.

        `latest` and `first`: their greatest times, and the least, from which on windows show tables.
        """
        if not self:
            return {}
        self._begin_windows(first or {})
        drained = {name: at.drained for name, at in reach.items() if at.drained > BEGINNING}
        if all(at <= self._drained.get(name, BEGINNING) for name, at in drained.items()):
            return self._advance(*_times(reach, latest))
        self.settled = max([*drained.values(), self._tables.newest()])
        end = dict.fromkeys(reach, max(max(drained.values()) + self.longest + 1, self.settled + 2))
        self._graph.end(drained)
        self._early.end(drained)
        answers = self._advance(end, end)
        self._drained |= drained
        self._begin()
        self._adopt()
        complete = {name: at.watermark for name, at in reach.items()}
        self._advance(complete, complete)
        return answers

    def _begin_windows(self, first: Mapping[str, Instant]) -> None:
        self._graph.begin(first)
        self._early.begin(first)

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
        return needed_from(self._related, stream, reach)

    def seen_from(self, table: str, reach: Mapping[str, Reach]) -> Instant:
        """No row before this time will be held against a table, be it new or read again after a restart."""
        times = self._looking_back(table, reach)
        return min([*times, *(at.watermark for at in reach.values())], default=BEGINNING)

    def _looking_back(self, table: str, reach: Mapping[str, Reach]) -> list[Instant]:
        """How far each query looks back that reads a table."""
        reading = [each for each in self._related if table in tables(each.relation)]
        return [looks_back_to(each.relation, reach) for each in reading]

    def save(self) -> dict[str, pa.Table]:
        """What is not in the log, as tables of a snapshot."""
        saved = self._graph.save()
        saved |= {_saved_as(name, each): each.save() for name, each in self._correcting.items()}
        saved |= self._flows.save() | self._early_flows.save()
        saved[ARRIVALS] = self.arrivals.save()
        return {SAVED + name: table for name, table in saved.items()}

    def saved_of(self) -> dict[str, Relation]:
        """Of which relation each of the tables that are saved holds rows, by its name without `SAVED`."""
        corrected = {_saved_as(name, each): each.rows_of for name, each in self._correcting.items()}
        return self._graph.saved_of() | corrected

    def restore(
        self,
        saved: Callable[[str], pa.Table | None],
        reach: Mapping[str, Reach],
        settled: Instant = BEGINNING,
    ) -> None:
        """Go on from a snapshot: before the rows are read again."""
        self._drained = {name: at.drained for name, at in reach.items() if at.drained > BEGINNING}
        self.settled = settled
        self._begin()
        self._adopt()
        if (arrivals := saved(SAVED + ARRIVALS)) is not None:
            self.arrivals.restore(arrivals)
        for flows in (self._flows, self._early_flows):
            flows.restore(lambda name: saved(SAVED + name))
        self._graph.restore(lambda name: saved(SAVED + name))
        for name, each in self._correcting.items():
            if (table := saved(SAVED + _saved_as(name, each))) is not None:
                each.restore(table)

    def refill(self, stream: str, batch: int, rows: pa.Table | RowsBy) -> None:
        """Take in the rows of a batch again, each as late as it was."""
        complete, ahead = self.arrivals.of(stream, batch)
        self._graph.stand(stream, complete)
        self._early.stand(stream, ahead)
        self._feed(stream, rows)

    def refilled(
        self,
        reach: Mapping[str, Reach],
        latest: Mapping[str, Instant],
        first: Mapping[str, Instant] | None = None,
    ) -> None:
        """All rows of before the snapshot are back: what they tell was told, and is not told again."""
        known = [(name, at, self.needed_from(name, reach)) for name, at in (first or {}).items()]
        self._begin_windows({name: at if since is None else max(at, since) for name, at, since in known})
        complete, ahead = _times(reach, latest)
        self._standing |= {name: Standing(at, ahead[name]) for name, at in complete.items()}
        self._graph.advance(complete)
        self._early.advance(ahead)

    def vouching(self, reach: Mapping[str, Reach]) -> Vouching:
        """Who says which queries could begin now as if they had always been there."""
        return Vouching(self._related, self._all_bounds(), reach, self._declared)

    def aside(self, names: Collection[str]) -> Relations:
        """Another one of queries that were just added, to be filled with the rows that the log holds."""
        other = Relations(self._finisher, self._strategy)
        other._related = tuple(each for each in self._related if each.query.name in names)
        other._declared, other._drained, other.arrivals = self._declared, self._drained, self.arrivals
        other._tells_after, other._basis = self._tells_after, self._basis
        other._adopt()
        other._deriving = self._deriving  # the chains are filled for all their joins
        other._graph.relink(self._graph, self._basis)
        return other

    def take_over(self, other: Relations) -> None:
        """Go on with the queries of the other as they are there."""
        other.late()
        other.failed()
        self._graph.take_over(other._graph)

    @property
    def rows(self) -> int:
        held = sum(len(flow) for flow in (*self._flows, *self._early_flows))
        return held + self._graph.rows + self._early.rows

    @property
    def nbytes(self) -> int:
        held = sum(flow.nbytes for flow in (*self._flows, *self._early_flows))
        return int(held) + self._graph.nbytes + self._early.nbytes

    @property
    def flows(self) -> Flows:
        return self._flows

    def keys(self) -> dict[str, dict[str, int]]:
        """How many values the keys of joins have, by stream and key."""
        return self._graph.keys()

    @property
    def graph(self) -> Graph:
        return self._graph


def _times(
    reach: Mapping[str, Reach], latest: Mapping[str, Instant]
) -> tuple[dict[str, Instant], dict[str, Instant]]:
    """Before when streams are complete, and before when they have been heard of."""
    complete = {name: at.watermark for name, at in reach.items()}
    return complete, {name: max(at, latest.get(name, BEGINNING - 1) + 1) for name, at in complete.items()}


def _saved_as(query: str, told: Correcting) -> str:
    """Versions of a query are named apart: what one told is not for another to take back."""
    return f"{_CORRECTED}{query} {name_of(told.asked)}"


def _tells_early(woven: Woven) -> bool:
    return isinstance(woven.relation, Emitted) and woven.relation.emission is Emission.CHANGES
