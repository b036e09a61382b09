"""Relations that lie in buckets: what the driver knows of them, and how it has them answered.

Which queries lie there is decided when they come, and stays so while they run: what is held of them is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from weft.engine.due import Answers
from weft.engine.relations.bucket import Moment, Related, Relating, Spreading
from weft.engine.relations.editions import Tables
from weft.engine.relations.evaluate import OnlySpark, without_spark
from weft.engine.relations.graph import Graph
from weft.engine.relations.whole import needed_from
from weft.engine.windows import Reach
from weft.log.bundle import Bundle
from weft.plan.nodes import Program, Stream, Table
from weft.plan.relationtree import tables
from weft.plan.relationwords import all_words
from weft.plan.shownparts import reworded
from weft.share.intakes import leaves
from weft.share.model.forecast import Basis
from weft.share.nodes import SharedPlan, StreamPlan, Woven
from weft.share.relations.bucketing import Spread, asked_of, bucketing, parted
from weft.share.relations.weave import Key
from weft.times import Instant

if TYPE_CHECKING:
    from weft.engine.bucketed import Place


@dataclass(slots=True)
class Said:
    """What all buckets say in a step."""

    answers: Answers = field(default_factory=Answers)
    late: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


class Spreads:
    """The driver's view of the relations in buckets; without a place there are none."""

    def __init__(self, place: Place | None, first: Callable[[], Mapping[str, int]]) -> None:
        """`first`: the oldest batch of each stream that the log holds."""
        self._place, self._first = place, first
        self._known: dict[str, tuple[Key, Spread | None]] = {}  # None: it stays in the driver
        self._plan = Spreading(SharedPlan(()), Program((), ()), {})
        self._version = 0
        self._base: int | None = None
        self._steps: list[Moment] = []
        self._before = Moment()
        self.cells = self.nbytes = self.reloads = 0
        self._waits = False

    def __bool__(self) -> bool:
        return bool(self._plan.plan.related)

    def adopt(
        self,
        plan: SharedPlan,
        program: Program,
        bounds: Mapping[str, Instant],
        whole: frozenset[str],
        basis: Basis,
    ) -> SharedPlan:
        """Go on with those queries of the plan that have a key; gives the plan of the others.

        The `whole` ones are among these: what they need of old rows is made where all rows are. `basis`: what
        is known of the streams; buckets are told when queries come or go.
        """
        if self._place is None:
            return plan
        declared = {stream.name: stream for stream in program.streams}
        apart = [each for each in plan.related if each.query.name not in whole]
        self._known = settled(apart, bounds, self._known, declared)
        stays = (None, None)
        mine = [(each, self._known.get(each.query.name, stays)[1]) for each in plan.related]
        there = tuple(_parted(each, spread) for each, spread in mine if spread is not None)
        floors = {each.query.name: bounds[each.query.name] for each in there if each.query.name in bounds}
        if (there, floors) != (self._plan.plan.related, self._plan.bounds):
            those = SharedPlan((), related=there)
            self._plan = Spreading(those, Program(program.streams, ()), floors, basis)
            self._version += 1
        return replace(plan, related=tuple(each for each, spread in mine if spread is None))

    @property
    def queries(self) -> frozenset[str]:
        """Those that lie in buckets."""
        return frozenset(each.query.name for each in self._plan.plan.related)

    def parted(self, stream: StreamPlan, others: SharedPlan, tables: Iterable[Table]) -> StreamPlan:
        """The plan of a stream, its rows kept apart as they lie in buckets.

        For `others` they are kept together as well, and for tables that are made of them.
        """
        if stream.intake is None:
            return stream
        name = stream.stream.name
        found = dict.fromkeys(leaf.by for leaf in leaves(self._plan.plan.related, name))
        made = any(table.flow is not None and table.flow.stream == name for table in tables)
        whole = made or any(True for _ in leaves(others.related, name))
        return replace(stream, intake=replace(stream.intake, parted=tuple(found), whole=whole))

    def begin(self, step: int, then: Moment) -> None:
        """What is held will be loaded from the snapshot after a step by the buckets themselves."""
        self._base, self._steps, self._before = step, [], then

    def catch_up(self, now: Moment) -> None:
        """A step that was done before the restart: buckets will do it again, silently."""
        if self._place is not None:
            self._steps.append(now)
            self._before = now

    def load(self) -> None:
        """Have every bucket get its relations, so that what is damaged shows before anything is changed."""
        if self and self._before.positions:
            self._run(self._before)

    def answer(self, now: Moment) -> Said:
        """What is new now that streams have come so far."""
        told = self._run(now) if self else []
        self.catch_up(now)
        said = Said()
        for each in told:
            said.late.update(each.late)
            said.failed.update(each.failed)
        said.answers.written = tuple(each.answers for each in told if each.answers.tables)
        said.answers.windows = _windows(told)
        return said

    def save(self, stem: str) -> list[Bundle]:
        """Have the buckets write what is not in the log as tables of a snapshot."""
        return [each.snapshot for each in self._run(self._before, stem)] if self else []

    def saved_as(self, step: int) -> None:
        """From now on, what is lost is loaded from the snapshot after this step."""
        self._base, self._steps = step, []

    def waits(self, reach: Mapping[str, Reach]) -> bool:
        """Might anything be held that streams which have come so far would let go, or tell?"""
        return self._waits and any(at != self._before.reach.get(name) for name, at in reach.items())

    def needed_from(self, stream: str, reach: Mapping[str, Reach]) -> Instant | None:
        """No row of a stream before this time is needed after a restart; None: of this stream none is."""
        return needed_from(self._plan.plan.related, stream, reach)

    def _run(self, now: Moment, snapshot: str | None = None) -> Sequence[Related]:
        place = self._place
        assert place is not None
        errand = Relating(
            home=str(place.home.path),
            run=place.run,
            buckets=place.crew.buckets,
            version=self._version,
            base=self._base,
            steps=tuple(self._steps),
            before=self._before,
            now=now,
            first=dict(self._first()),
            answers=place.stem(),
            snapshot=snapshot,
        )
        told = place.crew.relate(errand, self._plan)
        self.cells, self.nbytes = sum(each.rows for each in told), sum(each.nbytes for each in told)
        self.reloads += sum(each.reloaded for each in told)
        self._waits = any(each.waits for each in told)
        return told


def settled(
    related: Sequence[Woven],
    bounds: Mapping[str, Instant],
    known: Mapping[str, tuple[Key, Spread | None]],
    declared: Mapping[str, Stream],
) -> dict[str, tuple[Key, Spread | None]]:
    """By what the rows of each query lie in buckets: as before, those of new ones as goes with the others."""
    asked = asked_of(related, bounds)
    found = {name: known[name] for name, key in asked.items() if name in known and known[name][0] == key}
    there = {name: asked[name] for name, (_, spread) in found.items() if spread is not None}
    new = {name: key for name, key in asked.items() if name not in found}
    stay = only_spark((each for each in related if each.query.name in new), declared)
    spreads = _by_query(bucketing(there | new, stay).spreads)
    if any(name not in spreads or spreads[name].by != spread.by for name, spread in _spread(found)):
        spreads = _by_query(bucketing(new, stay).spreads)  # those that run keep theirs
    return {name: found.get(name, (key, spreads.get(name))) for name, key in asked.items()}


def _spread(found: Mapping[str, tuple[Key, Spread | None]]) -> Iterator[tuple[str, Spread]]:
    for name, (_, spread) in found.items():
        if spread is not None:
            yield name, spread


def _by_query(spreads: Iterable[Spread]) -> dict[str, Spread]:
    return {name: spread for spread in spreads for name in spread.queries}


def only_spark(related: Iterable[Woven], declared: Mapping[str, Stream]) -> dict[str, str]:
    """Queries with an expression that the kernels do not know, and which: executors cannot ask Spark.

    Those that read tables have no key, whatever their expressions are.
    """
    found = {}
    for each in related:
        if not tables(each.relation):
            try:
                Graph(without_spark, Tables()).adopt([each], declared, {}, {})
            except OnlySpark as error:
                found[each.query.name] = (
                    f"only Spark can evaluate {reworded(str(error), all_words(each.relation))}"
                )
    return found


def _parted(each: Woven, spread: Spread) -> Woven:
    return Woven(each.query, parted(each.relation, spread))


def _windows(told: Iterable[Related]) -> dict[str, int]:
    """How many windows each query is told of."""
    ends: dict[str, list[np.ndarray]] = {}
    for each in told:
        for name, found in each.windows.items():
            ends.setdefault(name, []).append(found)
    return {name: len(np.unique(np.concatenate(found))) for name, found in ends.items()}
