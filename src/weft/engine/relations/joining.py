"""Joins of three and more: a row that comes looks through the other windows one by one, in the best order.

    new rows of b ─► a ─► d ─► c          each look-up extends what was found so far; nothing of it is held

Only the windows themselves are held, so the order may change at any time (Golab 2006, chapter 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.matched import Matched, matched
from weft.engine.relations.operator import Carried, Told
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import Lives, take
from weft.plan.nodes import Column
from weft.plan.relationpatterns import lasts
from weft.plan.relations import Paired, Relation
from weft.plan.relationtree import columns
from weft.plan.scope import names_in
from weft.share.joinorder import Side, best_order, cost, reorder_pays
from weft.share.parts import conjunction
from weft.share.relations.equalities import equal
from weft.share.relations.many import Many
from weft.share.relations.matching import Matching, matching
from weft.times import SECOND, Instant

GAIN = 0.9  # of the cost of the order in use: a better one is taken when it costs less than that
EVERY = 16  # steps: so often the order is looked at anew

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """One look-up: how rows found so far match those of a source."""

    source: int
    keys: Evaluator  # of what was found so far
    store: RowStore
    rest: Condition | None
    names: tuple[str, ...]


class Window:
    """The rows of one source: an index for each set of keys that it is looked up by."""

    def __init__(self, relation: Relation, finisher: Finisher) -> None:
        self._relation, self.columns = relation, columns(relation)
        self.schema = schema_of(self.columns)
        self.length = lasts(relation)
        self._finisher = finisher
        self._stores: dict[tuple[str, ...], tuple[Evaluator, RowStore]] = {}
        self.seen = 0  # rows, since when
        self.since: Instant | None = None
        self.until: Instant | None = None

    def store(self, match: Matching) -> RowStore:
        """The rows by these keys."""
        name = _by(match)
        if name not in self._stores:
            keys = Evaluator(match.right, self.columns, self._finisher)
            made = RowStore(len(name), [] if self.length is None else [[self.length]], schema=self.schema)
            self._fill(keys, made)
            self._stores[name] = keys, made
        return self._stores[name][1]

    def has(self, keys: tuple[str, ...]) -> bool:
        """Are its rows found by these keys?"""
        return keys in self._stores

    def _fill(self, keys: Evaluator, store: RowStore) -> None:
        """With the rows that another index holds."""
        for _, known in self._stores.values():
            rows = known.all()
            store.add(list(keys.run(rows.table, len(rows))[0].columns), rows)
            return

    def add(self, rows: Lives) -> None:
        for keys, store in self._stores.values():
            store.add(list(keys.run(rows.table, len(rows))[0].columns), rows)
        if len(rows):
            self.seen += len(rows)
            first, last = int(rows.begins.min()), int(rows.begins.max())
            self.since = first if self.since is None else min(self.since, first)
            self.until = last if self.until is None else max(self.until, last)

    def expire(self, before: Instant) -> None:
        for _, store in self._stores.values():
            store.expire(before)

    def matched(self) -> Iterator[Matched]:
        for keys, (_, store) in self._stores.items():
            yield from matched(keys, self._relation, store.keys)

    @property
    def held(self) -> int:
        return max((len(store) for _, store in self._stores.values()), default=0)

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for _, store in self._stores.values())

    def side(self) -> Side:
        """What the cost of an order depends on."""
        span = max(((self.until or 0) - (self.since or 0)) / SECOND, 1.0)
        values = max((store.keys for _, store in self._stores.values()), default=1)
        length = span if self.length is None else self.length / SECOND
        return Side(self.seen / span, length, max(values, 1), max(values, 1))


class Joining(Carried):
    """An inner join of three or more sources with lives."""

    def __init__(self, relation: Paired, many: Many, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        self._schema = schema_of(self.columns)
        self._many, self._finisher = many, finisher
        self._equal = equal(many.conditions, many.sources)
        self._windows = [Window(source, finisher) for source in many.sources]
        self.order: Order = tuple(range(len(many.sources)))
        self._plans: dict[Order, list[list[Look]]] = {}
        self._looks(self.order)
        self._steps = 0

    def matched(self) -> Iterator[Matched]:
        for window in self._windows:
            yield from window.matched()

    @property
    def rows(self) -> int:
        return sum(window.held for window in self._windows)

    @property
    def nbytes(self) -> int:
        return sum(window.nbytes for window in self._windows)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        looks = self._looks(self.order)
        made: list[Lives] = []
        for at, rows in enumerate(told):
            assert isinstance(rows, Lives)
            if len(rows):
                made.append(self._found(rows, looks[at]))
            self._windows[at].add(rows)
        for window in self._windows:
            window.expire(upto)
        self._steps += 1
        if self._steps % EVERY == 0:
            self._reorder()
        return Lives.concat(made) if made else Lives.empty(self._schema)

    def _found(self, rows: Lives, looks: Sequence[Look]) -> Lives:
        for look in looks:
            keys = list(look.keys.run(rows.table, len(rows))[0].columns)
            found = look.store.pairs(keys, rows.begins, rows.ends)
            theirs = look.store.take(found.refs, look.names)
            mine = take(rows.table, found.rows)
            table = pa.table(
                [*mine.columns, *theirs.columns], names=[*mine.column_names, *theirs.column_names]
            )
            rows = Lives(table, found.begins, found.ends)
            if look.rest is not None:
                holds, failed = look.rest.run(table, len(rows))
                self.note(0 if failed is None else int(failed.sum()))
                rows = rows.filter(holds)
        return Lives(rows.table.select(self._schema.names), rows.begins, rows.ends)

    def _looks(self, order: Order) -> list[list[Look]]:
        """For new rows of each source, the others in order."""
        if order not in self._plans:
            self._plans[order] = [self._path(first, order) for first in range(len(order))]
        return self._plans[order]

    def _path(self, first: int, order: Order) -> list[Look]:
        path = []
        for at, known, match in self._matches(first, order):
            window = self._windows[at]
            both = (*known, *window.columns)
            rest = None if match.rest is None else Condition(match.rest, both, self._finisher)
            keys = Evaluator(match.left, known, self._finisher)
            path.append(Look(at, keys, window.store(match), rest, tuple(window.schema.names)))
        return path

    def _matches(self, first: int, order: Order) -> Iterator[tuple[int, list[Column], Matching]]:
        """The sources that a row of the first looks through, what it knows by then, and how it matches."""
        known: list[Column] = list(self._windows[first].columns)
        left = list(self._many.conditions)
        for at in (one for one in order if one != first):
            window = self._windows[at]
            names = {column.name for column in (*known, *window.columns)}
            mine = [each for each in left if names_in(each) <= names]
            left = [each for each in left if each not in mine]
            needed = self._equal.needed(mine, {column.name for column in window.columns})
            yield at, list(known), matching(conjunction(needed), known, window.columns)
            known += window.columns

    def _reorder(self) -> None:
        """Take another order where it costs clearly less, by what has come so far, and pays for the change.

        What was seen for as long as the longest window is taken to go on for as long again.
        """
        sides = [window.side() for window in self._windows]
        best = best_order(sides)
        now, then = cost(self.order, sides), cost(best, sides)
        if then >= GAIN * now or not self.has_keys(best):
            return
        if reorder_pays(now, then, self.to_sort(best), max(side.seconds for side in sides)):
            self.order = best

    def to_sort(self, order: Order) -> int:
        """How many rows an order would have sorted by keys that they are not found by yet."""
        found = {(at, _by(match)) for first in order for at, _, match in self._matches(first, order)}
        return sum(self._windows[at].held for at, keys in found if not self._windows[at].has(keys))

    def has_keys(self, order: Order) -> bool:
        """Is every look-up by some key? Costs are of joins on one column; others would pair all with all."""
        return all(match.left for first in order for _, _, match in self._matches(first, order))


def _by(match: Matching) -> tuple[str, ...]:
    """The keys that rows of a source are found by."""
    return tuple(key.expr.sql for key in match.right)
