"""Joins that share a chain: rows are held once, pairs are found once and go to whoever wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.matched import Matched
from weft.engine.relations.operator import Carried
from weft.kernels.arrow import whole
from weft.kernels.combine import Bools, Ints
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import NEVER, Lives, take
from weft.plan.nodes import Column
from weft.plan.relations import Paired
from weft.plan.relationtree import columns
from weft.share.intakes import CONDITION
from weft.share.model.forecast import Basis
from weft.share.relations.classes import Classes
from weft.share.relations.cost import chain_keys, chained
from weft.share.relations.links import LEFT, RIGHT, Chain, Link, Wanted
from weft.share.relations.matching import matching
from weft.times import BEGINNING, Duration, Instant

TIME = "_time"  # of a row: when it came into its window, however late it was

Take = Callable[[Ints, Sequence[str]], pa.Table]


@dataclass(frozen=True, slots=True)
class Picked:
    """One side of some pairs: where their rows lie."""

    rows: Ints
    take: Take

    def table(self, at: Ints | None, names: Sequence[str]) -> pa.Table:
        """Columns of these pairs; None: of all."""
        return self.take(self.rows if at is None else self.rows[at], names)

    def numbers(self, name: str) -> Ints:
        found: Ints = whole(self.table(None, [name]).column(0)).to_numpy()
        return found

    def holds(self, where: str) -> Bools:
        column = whole(self.table(None, [where]).column(0))
        found: Bools = column.to_numpy(zero_copy_only=False)
        return found


class Met:
    """Pairs found together: of one side they are new, of the other they were held."""

    def __init__(self, left: Picked, right: Picked, begins: Ints) -> None:
        self.left, self.right, self.begins = left, right, begins
        self._ends: dict[tuple[str, Duration | None], Ints] = {}
        self._holds: dict[tuple[str, str], Bools] = {}
        self._times: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self.begins)

    def filter(self, holds: Bools) -> Met:
        at = np.flatnonzero(holds)
        left, right = Picked(self.left.rows[at], self.left.take), Picked(self.right.rows[at], self.right.take)
        return Met(left, right, self.begins[at])

    def lives(self, link: Link, schema: pa.Schema) -> Lives:
        """Those that a join wants, as its own rows."""
        ends = np.minimum(self._end(LEFT, link.left.range), self._end(RIGHT, link.right.range))
        wanted = ends > self.begins
        for side, each in ((LEFT, link.left), (RIGHT, link.right)):
            if each.where is not None:
                wanted &= self._where(side, CONDITION + each.where.sql)
        at = None if wanted.all() else np.flatnonzero(wanted)
        left = self.left.table(at, _names(LEFT, link.left))
        right = self.right.table(at, _names(RIGHT, link.right))
        table = pa.table([*left.columns, *right.columns], schema=schema)
        return Lives(table, *(each if at is None else each[at] for each in (self.begins, ends)))

    def _end(self, side: str, range_: Duration | None) -> Ints:
        if (side, range_) not in self._ends:
            times = self._time(side)
            self._ends[(side, range_)] = np.full(len(times), NEVER) if range_ is None else times + range_
        return self._ends[(side, range_)]

    def _time(self, side: str) -> Ints:
        if side not in self._times:
            self._times[side] = (self.left if side == LEFT else self.right).numbers(TIME)
        return self._times[side]

    def _where(self, side: str, where: str) -> Bools:
        if (side, where) not in self._holds:
            self._holds[(side, where)] = (self.left if side == LEFT else self.right).holds(where)
        return self._holds[(side, where)]


class Side:
    """The rows of one stream that any join of the chain wants, each for as long as one does."""

    def __init__(self, prefix: str, wanted: Sequence[Wanted], bound: Instant) -> None:
        self.prefix, self.bound = prefix, bound
        found = {item.expr.sql: item.type for each in wanted for item in each.items}
        self.columns = tuple(Column(prefix + sql, type_) for sql, type_ in found.items())
        self.wheres = tuple(dict.fromkeys(CONDITION + w.where.sql for w in wanted if w.where is not None))
        held = (*self.columns, Column(TIME, "bigint"), *(Column(where, "boolean") for where in self.wheres))
        self._schema = schema_of(held)
        self._depths = tuple(dict.fromkeys((each.where, each.range) for each in wanted))
        self._new: list[Lives] = []
        self._late, self.complete = 0, BEGINNING

    def store(self, keys: int, classes: Classes) -> RowStore:
        return RowStore(keys, classes, schema=self._schema)

    def feed(self, rows: pa.Table, time: str) -> None:
        """The rows of a batch."""
        names = [column.name.removeprefix(self.prefix) for column in self.columns]
        if not {time, *names, *self.wheres} <= set(rows.column_names):
            return
        times = whole(rows.column(time)).cast(pa.int64()).to_numpy()
        ends = self._ends(rows, times)
        begins = np.maximum(times, self.complete)
        mine = (times > self.bound) & (begins < ends)
        self._late += int(np.count_nonzero(mine & (times < self.complete)))
        held = [whole(rows.column(name)) for name in names]
        held += [pa.array(times)]
        held += [whole(rows.column(where)).fill_null(False) for where in self.wheres]
        table = pa.table(held, names=self._schema.names).cast(self._schema)
        lives = Lives(table, begins, ends)
        self._new.append(lives if mine.all() else lives.filter(mine))

    def _ends(self, rows: pa.Table, times: Ints) -> Ints:
        """For how long any join wants each row; BEGINNING: none does."""
        ends = np.full(len(times), BEGINNING)
        for where, range_ in self._depths:
            mine = np.full(len(times), NEVER) if range_ is None else times + range_
            if where is not None:
                holds = whole(rows.column(CONDITION + where.sql)).fill_null(False)
                mine = np.where(holds.to_numpy(zero_copy_only=False), mine, BEGINNING)
            ends = np.maximum(ends, mine)
        return ends

    def narrowed(self, rows: Lives) -> Lives:
        """Rows of a chain that had more joins: of each what is still wanted, for as long as it is."""
        times = whole(rows.table.column(TIME)).to_numpy()
        ends = self._ends(rows.table, times)
        kept = Lives(rows.table.select(self._schema.names), rows.begins, ends)
        return kept.filter(rows.begins < ends)

    def take(self, upto: Instant) -> Lives:
        """What is new; rows that come later lie behind `upto`, or are late."""
        new, self._new = self._new, []
        self.complete = max(self.complete, upto)
        return Lives.concat(new) if new else Lives.empty(self._schema)

    def late(self) -> int:
        found, self._late = self._late, 0
        return found


class Chaining(Carried):
    """A chain: its two sides, and the pairs that are new."""

    def __init__(
        self,
        chain: Chain,
        links: Sequence[Link],
        times: tuple[str, str],
        bound: Instant,
        finisher: Finisher,
        basis: Basis | None = None,
    ) -> None:
        self.chain, self._times, self._links = chain, times, frozenset(links)
        self._bound, self._finisher = bound, finisher
        self._sides = (
            Side(LEFT, [each.left for each in links], bound),
            Side(RIGHT, [each.right for each in links], bound),
        )
        left, right = self._sides
        super().__init__((*left.columns, *right.columns))
        match = matching(chain.on, left.columns, right.columns)
        self._texts = chain_keys(match)
        sides = (match.left, left), (match.right, right)
        self._keys = [Evaluator(keys, side.columns, finisher) for keys, side in sides]
        found = chained(chain, links, basis or Basis())
        self.classes = found.left.classes, found.right.classes
        self._stores = tuple(
            side.store(len(match.left), classes)
            for side, classes in zip(self._sides, self.classes, strict=True)
        )
        self._rest = None if match.rest is None else Condition(match.rest, self.columns, finisher)
        self.met: list[Met] = []
        self._upto = [BEGINNING, BEGINNING]

    def matched(self) -> Iterator[Matched]:
        streams = self.chain.left, self.chain.right
        for stream, key, store in zip(streams, self._texts, self._stores, strict=True):
            if key and store.keys:
                yield Matched(stream, key, store.keys)

    @property
    def held(self) -> tuple[int, int]:
        """How many rows of either side are held."""
        return len(self._stores[0]), len(self._stores[1])

    @property
    def rows(self) -> int:
        return sum(self.held)

    @property
    def nbytes(self) -> int:
        return self._stores[0].nbytes + self._stores[1].nbytes

    def feed(self, stream: str, rows: pa.Table) -> None:
        names = self.chain.left, self.chain.right
        for side, name, time in zip(self._sides, names, self._times, strict=True):
            if name == stream:
                side.feed(rows, time)

    def stand(self, stream: str, complete: Instant) -> None:
        """The rows that come next come when their stream is complete before this time."""
        for side, name in zip(self._sides, (self.chain.left, self.chain.right), strict=True):
            if name == stream:
                side.complete = complete

    def meet(self, complete: Mapping[str, Instant]) -> None:
        """Find the pairs that are new."""
        upto = [complete.get(name, BEGINNING) for name in (self.chain.left, self.chain.right)]
        left, right = (side.take(at) for side, at in zip(self._sides, upto, strict=True))
        self.met = []
        keys = self._key(0, left), self._key(1, right)
        self._meet(left, keys[0], 0)
        self._stores[0].add(keys[0], left)
        self._meet(right, keys[1], 1)
        self._stores[1].add(keys[1], right)
        self._upto = upto

    def settle(self) -> None:
        """Let go of the pairs, and of rows that can meet no other."""
        self.met = []
        for store, at in zip(self._stores, reversed(self._upto), strict=True):
            store.expire(at)

    def _key(self, side: int, rows: Lives) -> list[pa.ChunkedArray]:
        made, _ = self._keys[side].run(rows.table, len(rows))  # a key that fails is null, and matches nothing
        return list(made.columns)

    def _meet(self, rows: Lives, keys: list[pa.ChunkedArray], side: int) -> None:
        if not len(rows):
            return
        store = self._stores[1 - side]
        found = store.pairs(keys, rows.begins, rows.ends)
        if not len(found.rows):
            return
        mine = Picked(found.rows, lambda at, names: take(rows.table.select(names), at))
        others = Picked(found.refs, store.take)
        met = Met(mine, others, found.begins) if side == 0 else Met(others, mine, found.begins)
        if self._rest is not None:
            names = [[column.name for column in each.columns] for each in self._sides]
            table = pa.table(
                [*met.left.table(None, names[0]).columns, *met.right.table(None, names[1]).columns],
                names=[*names[0], *names[1]],
            )
            holds, failed = self._rest.run(table, len(met))
            self.note(0 if failed is None else int(failed.sum()))
            met = met.filter(holds)
        self.met.append(met)

    def relinked(self, links: Sequence[Link], basis: Basis | None = None) -> Chaining:
        """The chain with these joins instead: itself if they are the same, else with the rows they want.

        In which classes these lie is decided anew, by what is known now.
        A join that it did not have begins with rows that are still to come: its bound lies before them.
        """
        if frozenset(links) == self._links:
            return self
        other = Chaining(self.chain, links, self._times, self._bound, self._finisher, basis)
        if frozenset(links) <= self._links:
            for at, (store, side) in enumerate(zip(self._stores, other._sides, strict=True)):
                side.complete = self._sides[at].complete
                rows = side.narrowed(store.all())
                other._stores[at].add(other._key(at, rows), rows)
            other._upto = self._upto
            other.settle()
        return other

    def late(self) -> int:
        return sum(side.late() for side in self._sides)


class Tapping(Carried):
    """One join of a chain: the pairs that it wants."""

    def __init__(self, relation: Paired, link: Link, chain: Chaining) -> None:
        super().__init__(columns(relation))
        self._link, self.chain = link, chain
        self._schema = schema_of(self.columns)

    def advance(self, told: Sequence[object], upto: Instant) -> Lives:
        """What is new of it."""
        made = [met.lives(self._link, self._schema) for met in self.chain.met]
        return Lives.concat(made) if made else Lives.empty(self._schema)


def _names(prefix: str, wanted: Wanted) -> list[str]:
    return [prefix + item.expr.sql for item in wanted.items]
