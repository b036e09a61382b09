"""Joins that share a chain: rows are held once, pairs are found once and go to whoever wants them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.matched import Matched
from weft.engine.relations.met import TIME, Met, Picked
from weft.engine.relations.operator import Carried, ends_of
from weft.engine.relations.parting import RowsBy
from weft.kernels.arrow import whole
from weft.kernels.combine import Ints
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import Lives, take
from weft.lang.statements import Expr
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

Depth = tuple[Expr | None, Duration | None, Instant]  # which rows, for how long, and after when


class Side:
    """The rows of one stream that any join of the chain wants, each for as long as one does."""

    def __init__(self, prefix: str, wanted: Sequence[Wanted]) -> None:
        self.prefix, self._wanted = prefix, tuple(wanted)
        found = {item.expr.sql: item.type for each in wanted for item in each.items}
        self.columns = tuple(Column(prefix + sql, type_) for sql, type_ in found.items())
        self.wheres = tuple(dict.fromkeys(CONDITION + w.where.sql for w in wanted if w.where is not None))
        held = (*self.columns, Column(TIME, "bigint"), *(Column(where, "boolean") for where in self.wheres))
        self._schema = schema_of(held)
        self._new: list[Lives] = []
        self._late: Counter[Depth] = Counter()
        self.late: Counter[Depth] = Counter()  # rows of this step
        self.complete = BEGINNING

    def store(self, keys: int, classes: Classes) -> RowStore:
        return RowStore(keys, classes, schema=self._schema)

    def feed(self, rows: pa.Table, time: str) -> None:
        """The rows of a batch. One from before some join was there may lack what that one asks for."""
        known = set(rows.column_names)
        asking = [each for each in self._wanted if {time, *_asked(each)} <= known]
        if not asking:
            return
        times = whole(rows.column(time)).cast(pa.int64()).to_numpy()
        begins, ends = np.maximum(times, self.complete), np.full(len(times), BEGINNING)
        late = begins > times
        for depth in dict.fromkeys(map(_depth, asking)):
            until = _until(depth, rows, times)
            self._late[depth] += int(np.count_nonzero(late & (until > BEGINNING)))
            ends = np.maximum(ends, until)
        held = rows.rename_columns([self._held_as(name) for name in rows.column_names])
        held = held.append_column(TIME, pa.array(times))
        lives, mine = Lives(self._filled(held), begins, ends), begins < ends
        self._new.append(lives if mine.all() else lives.filter(mine))

    def _held_as(self, name: str) -> str:
        return name if name.startswith(CONDITION) else self.prefix + name

    def adopted(self, rows: Lives) -> Lives:
        """Rows of a chain that had other joins: of each what is still wanted, for as long as it is.

        None of them is wanted by a join that is new: they came before it.
        """
        times = whole(rows.table.column(TIME)).to_numpy()
        table, ends = self._filled(rows.table), np.full(len(times), BEGINNING)
        for depth in dict.fromkeys(map(_depth, self._wanted)):
            ends = np.maximum(ends, _until(depth, table, times))
        return Lives(table, rows.begins, ends).filter(rows.begins < ends)

    def _filled(self, rows: pa.Table) -> pa.Table:
        """The columns that are held. Those that are not there are of joins that do not want these rows."""
        known = set(rows.column_names)
        held = [
            whole(rows.column(field.name)) if field.name in known else pa.nulls(rows.num_rows, field.type)
            for field in self._schema
        ]
        held = [
            column.fill_null(False) if field.name in self.wheres else column
            for field, column in zip(self._schema, held, strict=True)
        ]
        return pa.table(held, names=self._schema.names).cast(self._schema)

    def take(self, upto: Instant) -> Lives:
        """What is new; rows that come later lie behind `upto`, or are late."""
        new, self._new = self._new, []
        self.late, self._late = self._late, Counter()
        self.complete = max(self.complete, upto)
        return Lives.concat(new) if new else Lives.empty(self._schema)


def _depth(wanted: Wanted) -> Depth:
    return wanted.where, wanted.range, wanted.after


def _asked(wanted: Wanted) -> set[str]:
    """The columns of a batch that a join asks for."""
    where = set() if wanted.where is None else {CONDITION + wanted.where.sql}
    return where | {item.expr.sql for item in wanted.items}


def _until(depth: Depth, rows: pa.Table, times: Ints) -> Ints:
    """For how long each row is wanted; BEGINNING: it is not."""
    where, range_, after = depth
    ends = np.where(times > after, ends_of(times, range_), BEGINNING)
    if where is None:
        return ends
    holds = whole(rows.column(CONDITION + where.sql)).fill_null(False)
    return np.where(holds.to_numpy(zero_copy_only=False), ends, BEGINNING)


class Chaining(Carried):
    """A chain: its two sides, and the pairs that are new."""

    def __init__(
        self,
        chain: Chain,
        links: Sequence[Link],
        times: tuple[str, str],
        finisher: Finisher,
        basis: Basis | None = None,
    ) -> None:
        self.chain, self.links, self._times, self._finisher = chain, tuple(links), times, finisher
        self._sides = (
            Side(LEFT, [each.left for each in links]),
            Side(RIGHT, [each.right for each in links]),
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
        self.failing: list[Met] = []  # pairs of which it cannot be said whether they match
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

    def feed(self, stream: str, rows: RowsBy) -> None:
        names = self.chain.left, self.chain.right
        for side, name, time, by in zip(self._sides, names, self._times, self.chain.by, strict=True):
            if name == stream:
                side.feed(rows(by), time)

    def stand(self, stream: str, complete: Instant) -> None:
        """The rows that come next come when their stream is complete before this time."""
        for side, name in zip(self._sides, (self.chain.left, self.chain.right), strict=True):
            if name == stream:
                side.complete = complete

    def meet(self, complete: Mapping[str, Instant]) -> None:
        """Find the pairs that are new."""
        upto = [complete.get(name, BEGINNING) for name in (self.chain.left, self.chain.right)]
        left, right = (side.take(at) for side, at in zip(self._sides, upto, strict=True))
        self.met, self.failing = [], []
        keys = self._key(0, left), self._key(1, right)
        self._meet(left, keys[0], 0)
        self._stores[0].add(keys[0], left)
        self._meet(right, keys[1], 1)
        self._stores[1].add(keys[1], right)
        self._upto = upto

    def settle(self) -> None:
        """Let go of the pairs, and of rows that can meet no other."""
        self.met, self.failing = [], []
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
            if failed is not None:
                self.failing.append(met.filter(failed))
            met = met.filter(holds)
        self.met.append(met)

    def relinked(self, links: Sequence[Link], basis: Basis | None = None) -> Chaining:
        """The chain with these joins instead: itself if they are the same, else with the rows they want.

        In which classes these lie is decided anew, by what is known now.
        """
        if frozenset(links) == frozenset(self.links):
            return self
        other = Chaining(self.chain, links, self._times, self._finisher, basis)
        for at, (store, side) in enumerate(zip(self._stores, other._sides, strict=True)):
            side.complete = self._sides[at].complete
            rows = side.adopted(store.all())
            other._stores[at].add(other._key(at, rows), rows)
        other._upto = self._upto
        other.settle()
        return other

    def late(self, link: Link) -> int:
        """How many rows that a join wants have come late in this step."""
        left, right = self._sides
        return left.late[_depth(link.left)] + right.late[_depth(link.right)]


class Tapping(Carried):
    """One join of a chain: the pairs that it wants."""

    def __init__(self, relation: Paired, link: Link, chain: Chaining) -> None:
        super().__init__(columns(relation))
        self.link, self.chain = link, chain
        self._schema = schema_of(self.columns)
        self._late = 0

    def advance(self, told: Sequence[object], upto: Instant) -> Lives:
        """What is new of it."""
        self._late += self.chain.late(self.link)
        self.note(sum(met.count(self.link) for met in self.chain.failing))
        made = [met.lives(self.link, self._schema) for met in self.chain.met]
        return Lives.concat(made) if made else Lives.empty(self._schema)

    def late(self) -> int:
        """How many of its rows have come late since this was last asked."""
        found, self._late = self._late, 0
        return found
