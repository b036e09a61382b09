"""All queries of a program -> one shared plan per stream.

Every distinct partial is computed once; queries with the same group-by set read one feed; a feed whose keys
are a subset of another's is combined from it; all windows of a stream are cut at the union of their edges.
What was decided is in the plan as values, for `explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.plan.nodes import Program, Query, Related, Stream, Table
from weft.share.intakes import gathered, woven
from weft.share.lattice import own_feeds
from weft.share.loom import NO_TURNS, Loom
from weft.share.members import Taken, take
from weft.share.model.forecast import Basis
from weft.share.nodes import Guard, Saving, SharedPlan, StreamPlan, Tap, Woven
from weft.share.parts import parts
from weft.share.predicates import Hidden, Turns
from weft.share.relations.decided import Decided
from weft.share.relations.placing import place
from weft.share.slicing import overlap

STALE = 0.25  # of the queries: when so many have gone, the plan is to be made without what only they needed
FEW = 8  # queries that may go before that


def build(
    program: Program,
    hidden: Hidden | None = None,
    basis: Basis | None = None,
    decided: Decided | None = None,
    turns: Turns = NO_TURNS,
) -> SharedPlan:
    """The shared plan of `program`; a stream that no query reads, and no table, is left out.

    `hidden` tells by which keys queries pick groups, `turns` of some since when, `decided` where absence
    stands in relations; what they do not tell of a query is decided here, by what is known of the streams.
    """
    return Planner().plan(program, hidden, basis=basis, decided=decided, turns=turns)


class Planner:
    """The shared plan of a program that changes: of what stays, nothing is worked out again.

    What only queries needed that are gone stays in it. `anew` is without.
    """

    def __init__(self) -> None:
        self._looms: dict[str, Loom] = {}
        self._taken: dict[str, Taken] = {}
        self._related: dict[str, tuple[Woven, dict[str, Guard]]] = {}
        self._tables: tuple[Table, ...] = ()
        self._saved: dict[str, _Apart] = {}
        self._total = _Apart()
        self._turns: Turns = {}
        self._gone = 0  # queries, since all was woven

    def plan(
        self,
        program: Program,
        hidden: Hidden | None = None,
        basis: Basis | None = None,
        decided: Decided | None = None,
        turns: Turns = NO_TURNS,
    ) -> SharedPlan:
        """The plan of `program`, from that of the one before; queries are known by being the same object."""
        related, single = list[Query](), list[Query]()
        for query in program.queries:
            (related if isinstance(query.plan, Related) else single).append(query)
        self._relate(related, program.streams, decided or Decided(basis or Basis()))
        self._tables = program.tables
        now = {query.name: query for query in single}
        before, self._turns = self._turns, turns
        other = {name for name in {**before, **turns} if before.get(name) != turns.get(name)}
        gone = [n for n, taken in self._taken.items() if n in other or now.get(n) is not taken.query]
        self._drop(gone)
        streams = {stream.name: stream for stream in program.streams}
        basis = basis or Basis()
        if any(_other(loom, streams) for loom in self._looms.values()):
            self._weave(streams, self.hidden(), basis)
        for stream in program.streams:
            self._looms.setdefault(stream.name, Loom(stream))
        new = [query for query in single if query.name not in self._taken]
        self._add(new, hidden or {}, basis)
        return self._shared()

    @property
    def is_stale(self) -> bool:
        """Is much in the plan that no query needs any more?"""
        if not self._gone:
            return False
        return self._gone > max(FEW, STALE * len(self._taken)) or any(
            loom.has_idle for loom in self._looms.values()
        )

    def anew(self, basis: Basis, without: Container[str] = ()) -> Callable[[], Planner]:
        """What makes a planner of the same queries, or without some, with nothing that these do not need.

        That takes as long as all of them do, and may go on beside this one: what changes meanwhile the other
        takes in with its next plan, as any change.
        """
        made, streams = Planner(), {name: loom.stream for name, loom in self._looms.items()}
        made._taken = {name: taken for name, taken in self._taken.items() if name not in without}
        made._related, made._tables, made._turns = dict(self._related), self._tables, self._turns
        fixed, taps = self.hidden(), {name: dict(loom.taps) for name, loom in self._looms.items()}

        def weave() -> Planner:
            made._weave(streams, fixed, basis)
            for name, loom in made._looms.items():
                loom.keep(taps[name])
            made._shared()  # all that is worked out once, its next plan finds there
            return made

        return weave

    def alone(self, query: str, keys: tuple[str, ...]) -> StreamPlan:
        """The plan of one of the queries by itself, if it picks by these keys."""
        taken = self._taken[query]
        loom = Loom(self._looms[taken.parts.stream].stream)
        loom.add([taken], {query: keys}, Basis())
        return loom.plan()

    def taken(self, stream: str) -> tuple[Taken, ...]:
        """The queries of a stream, taken apart."""
        return tuple(taken for taken in self._taken.values() if taken.parts.stream == stream)

    def hidden(self) -> dict[str, tuple[str, ...]]:
        """By which keys each query picks its groups."""
        return {name: keys for loom in self._looms.values() for name, keys in loom.hidden.items()}

    def _relate(self, queries: Iterable[Query], streams: Sequence[Stream], decided: Decided) -> None:
        """Take in the queries over several sources; those that are known already stay as they are."""
        before, self._related = self._related, {}
        new = []
        for query in queries:
            known = before.get(query.name)
            if known is None or known[0].query is not query:
                known = woven(query, streams)
                new.append(query.name)
            self._related[query.name] = known
        related = {name: each for name, (each, _) in self._related.items()}
        for name, each in place(related, new, decided).items():
            self._related[name] = each, self._related[name][1]

    def _add(self, queries: Sequence[Query], hidden: Hidden, basis: Basis) -> None:
        new: dict[str, list[Taken]] = {}
        for query in queries:
            found = parts(query)
            loom = self._looms[found.stream]
            taken = self._taken[query.name] = take(query, found, loom.types)
            new.setdefault(loom.stream.name, []).append(taken)
        for stream, taken_apart in new.items():
            self._looms[stream].add(taken_apart, hidden, basis, self._turns)

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            taken = self._taken.pop(name)
            self._looms[taken.parts.stream].drop(name)
            self._total = self._total.without(self._saved.pop(name, _Apart()))
        self._gone += len(names)
        for loom in self._looms.values() if names else ():
            loom.let_go()

    def _weave(self, streams: Mapping[str, Stream], fixed: Hidden, basis: Basis) -> None:
        """Begin anew: what was decided stays, and so does what is known of each query by itself."""
        looms = {name: Loom(stream) for name, stream in streams.items()}
        for name, loom in looms.items():
            same = self._looms.get(name)
            mine = [taken for taken in self._taken.values() if taken.parts.stream == name]
            if same is not None and same.stream is not loom.stream:
                mine = [take(taken.query, taken.parts, loom.types) for taken in mine]
                self._taken |= {taken.query.name: taken for taken in mine}
            loom.add(mine, fixed, basis, self._turns)
        self._looms, self._gone = looms, 0

    def _shared(self) -> SharedPlan:
        plans = tuple(plan for loom in self._looms.values() if _is_read(plan := self._plan_of(loom)))
        for plan in plans:
            for tap in plan.taps:
                if tap.query.name not in self._saved:
                    mine = self._saved[tap.query.name] = _Apart.of(plan, tap)
                    self._total = self._total.plus(mine)
        related = tuple(each for each, _ in self._related.values())
        saving = Saving(
            queries=sum(len(plan.taps) + len(plan.standing) for plan in plans) + len(related),
            partials_apart=self._total.partials,
            partials_shared=sum(len(plan.feeds[root].partials) for plan in plans for root in plan.roots),
            row_updates_apart=float(self._total.updates),
            row_updates_shared=float(sum(len(plan.roots) for plan in plans)),
        )
        return SharedPlan(plans, saving, related)

    def _plan_of(self, loom: Loom) -> StreamPlan:
        """The plan of a stream, with the rows that relations want of it."""
        plan, name = loom.plan(), loom.stream.name
        guards = [guards[name] for _, guards in self._related.values() if name in guards]
        wanted = gathered(loom.stream, [each for each, _ in self._related.values()], guards, self._tables)
        if wanted is None:
            return plan
        read = {*plan.columns, *wanted.columns()}
        return replace(
            plan,
            intake=wanted.intake,
            guards=(*plan.guards, *wanted.guards),
            columns=tuple(column.name for column in loom.stream.columns if column.name in read),
        )


@dataclass(frozen=True, slots=True)
class _Apart:
    """What queries would take if each were by itself."""

    partials: int = 0
    updates: int = 0  # for each row

    @staticmethod
    def of(plan: StreamPlan, tap: Tap) -> _Apart:
        partials = sum(len(feed.partials) for feed in own_feeds(plan, tap) if feed.parent is None)
        return _Apart(partials, sum(overlap(each.window) for each in tap.sets))

    def plus(self, other: _Apart) -> _Apart:
        return _Apart(self.partials + other.partials, self.updates + other.updates)

    def without(self, other: _Apart) -> _Apart:
        return _Apart(self.partials - other.partials, self.updates - other.updates)


def _other(loom: Loom, streams: Mapping[str, Stream]) -> bool:
    """Has its stream gone, or been declared otherwise?"""
    return streams.get(loom.stream.name) is not loom.stream


def _is_read(plan: StreamPlan) -> bool:
    return bool(plan.taps or plan.passing)
