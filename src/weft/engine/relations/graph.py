"""The relations of all queries as one graph: equal ones are one node, and are carried out once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from weft.engine.relations.build import operator
from weft.engine.relations.chained import Chaining, Tapping
from weft.engine.relations.deduplicating import Deduplicating
from weft.engine.relations.editions import Editions, Tables, Version
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.looking import Looking
from weft.engine.relations.lower import lowered
from weft.engine.relations.operator import Operator, Told
from weft.engine.relations.reading import Reading
from weft.engine.relations.revising import Revising
from weft.engine.relations.telling import Telling
from weft.plan.lookups import lookup
from weft.plan.nodes import Stream
from weft.plan.relations import Emitted, Entries, Paired, Relation, Rows, Whether
from weft.plan.relationtree import below, columns, streams, walk
from weft.share.chains import Chain, Link, link
from weft.share.nodes import Woven
from weft.times import BEGINNING, Instant

Key = tuple[Relation, Instant]  # a relation, and after which time it begins


@dataclass(slots=True)
class Node:
    """A relation that some query is about, and what carries it out."""

    key: Key
    operator: Operator
    sources: tuple[Node, ...]
    streams: tuple[str, ...]
    told: Told | None = None  # in this step


@dataclass(slots=True)
class Top:
    """A query: what it is told by, and what it makes of it."""

    name: str
    node: Node
    telling: Telling
    below: list[Node] = field(default_factory=list)  # all nodes that it rests on


class Graph:
    """What is carried out of relations. A node comes before those that rest on it."""

    def __init__(self, finisher: Finisher, tables: Tables) -> None:
        self._finisher, self._tables = finisher, tables
        self._nodes: dict[Key, Node] = {}
        self._chains: dict[tuple[Chain, Instant], Chaining] = {}
        self.tops: dict[str, Top] = {}

    def adopt(
        self, related: Iterable[Woven], declared: Mapping[str, Stream], bounds: Mapping[str, Instant]
    ) -> None:
        """Carry out these queries: what stays goes on, what is new begins with nothing."""
        before, self._nodes = self._nodes, {}
        tops, self.tops = self.tops, {}
        asked = {
            each.query.name: (lowered(each.relation), bounds.get(each.query.name, BEGINNING))
            for each in related
        }
        self._link(asked.values(), declared)
        for name, (relation, bound) in asked.items():
            assert isinstance(relation, Emitted)
            node = self._node(relation.source, bound, before, declared)
            top = tops.get(name)
            if top is None or top.node is not node or top.telling.relation != relation:
                top = Top(name, node, Telling(relation))
            top.below = list(_under(node))
            self.tops[name] = top

    def _node(
        self, relation: Relation, bound: Instant, before: Mapping[Key, Node], declared: Mapping[str, Stream]
    ) -> Node:
        key = (relation, bound)
        if key not in self._nodes:
            sources = tuple(self._node(each, bound, before, declared) for each in _fed_by(relation))
            node = before.get(key)
            if node is None:
                node = Node(key, self._operator(key, declared), sources, streams(relation))
            self._nodes[key] = node
        return self._nodes[key]

    def _operator(self, key: Key, declared: Mapping[str, Stream]) -> Operator:
        relation, bound = key
        linked = link(relation) if isinstance(relation, Paired) else None
        found = lookup(relation)
        if linked is not None and isinstance(relation, Paired):
            return Tapping(relation, linked, self._chains[(linked.chain, bound)])
        if found is not None and isinstance(relation, Paired | Whether):
            editions = self._tables.editions(found.entries, self._finisher)
            return Looking(relation, found, editions, self._finisher)
        if isinstance(relation, Entries) and relation.retroactive:
            return Revising(columns(relation), self._tables.editions(relation, self._finisher))
        return operator(relation, bound, declared, self._finisher)

    def _link(self, asked: Iterable[Key], declared: Mapping[str, Stream]) -> None:
        """The chains of all joins; one that stays goes on with the rows that it holds."""
        links: dict[tuple[Chain, Instant], dict[Link, None]] = {}
        for relation, bound in asked:
            for node in walk(relation):
                found = link(node) if isinstance(node, Paired) else None
                if found is not None:
                    links.setdefault((found.chain, bound), {})[found] = None
        before, self._chains = self._chains, {}
        for key, some in links.items():
            chain, bound = key
            times = declared[chain.left].statement.time_column, declared[chain.right].statement.time_column
            known = before.get(key)
            if known is None or not known.serves(some):
                known = Chaining(chain, tuple(some), times, bound, self._finisher)
            self._chains[key] = known

    def feed(self, stream: str, rows: pa.Table) -> None:
        """The rows of a batch."""
        for (relation, _), node in self._nodes.items():
            if isinstance(relation, Rows) and relation.stream == stream:
                assert isinstance(node.operator, Reading)
                node.operator.feed(rows)
        for chain in self._chains.values():
            chain.feed(stream, rows)

    def revise(self, table: str, version: Version) -> None:
        """The next version of a table."""
        for editions in self._editions():
            if editions.table == table:
                editions.put(version)

    def _editions(self) -> list[Editions]:
        operators = (node.operator for node in self._nodes.values())
        return [each.editions for each in operators if isinstance(each, Looking | Revising)]

    def advance(self, complete: Mapping[str, Instant]) -> dict[str, pa.Table]:
        """What is new of each query, once its streams are complete before these times."""
        for chain in self._chains.values():
            chain.meet(complete)
        for node in self._nodes.values():
            told = [each.told for each in node.sources if each.told is not None]
            node.told = node.operator.advance(told, _upto(node, complete))
        answers = {}
        for top in self.tops.values():
            assert top.node.told is not None
            answers[top.name] = top.telling.answers(top.node.told, _upto(top.node, complete))
        for node in self._nodes.values():
            node.told = None
        for chain in self._chains.values():
            chain.settle()
        return {name: table for name, table in answers.items() if table.num_rows}

    def failed(self) -> dict[str, int]:
        """On how many rows an expression failed since this was last asked, by query."""
        found = {key: node.operator.failed() for key, node in self._nodes.items()}
        chained = {id(chain): chain.failed() for chain in self._chains.values()}
        return self._by_query(found, chained)

    def late(self) -> dict[str, int]:
        """How many rows came too late since this was last asked, by query."""
        readings = {k: n.operator for k, n in self._nodes.items() if isinstance(n.operator, Reading)}
        chained = {id(chain): chain.late() for chain in self._chains.values()}
        return self._by_query({key: reading.late() for key, reading in readings.items()}, chained)

    def _by_query(self, counts: Mapping[Key, int], chained: Mapping[int, int]) -> dict[str, int]:
        found = {}
        for top in self.tops.values():
            taps = {id(n.operator.chain) for n in top.below if isinstance(n.operator, Tapping)}
            mine = {node.key for node in top.below}
            found[top.name] = sum(counts.get(key, 0) for key in mine) + sum(chained[tap] for tap in taps)
        return {name: count for name, count in found.items() if count}

    def save(self) -> dict[str, pa.Table]:
        """What cannot be made again of the rows in the log, by the names of its nodes."""
        return {
            _name(key): node.operator.save()
            for key, node in self._nodes.items()
            if isinstance(node.operator, Deduplicating)
        }

    def restore(self, saved: Callable[[str], pa.Table | None], complete: Mapping[str, Instant]) -> None:
        """Go on from what was saved when the streams were complete before these times."""
        for key, node in self._nodes.items():
            if isinstance(node.operator, Deduplicating):
                table = saved(_name(key))
                if table is not None:
                    node.operator.restore(table, _upto(node, complete))

    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    @property
    def rows(self) -> int:
        chained = sum(chain.rows for chain in self._chains.values())
        return chained + sum(node.operator.rows for node in self._nodes.values())

    @property
    def nbytes(self) -> int:
        own = sum(top.telling.nbytes for top in self.tops.values())
        own += sum(chain.nbytes for chain in self._chains.values())
        return own + sum(node.operator.nbytes for node in self._nodes.values())


def _fed_by(relation: Relation) -> tuple[Relation, ...]:
    """The relations whose rows it is told; those of a chain, or of a table to look up, come another way."""
    found = lookup(relation)
    if found is not None:
        return (found.rows,)
    return () if isinstance(relation, Paired) and link(relation) is not None else below(relation)


def _upto(node: Node, complete: Mapping[str, Instant]) -> Instant:
    """Before when a node is complete. No version of a table comes into force where any stream has been."""
    if not node.streams:
        return max(complete.values(), default=BEGINNING)
    return min(complete.get(stream, BEGINNING) for stream in node.streams)


def _name(key: Key) -> str:
    """The same for equal nodes, in every process."""
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _under(node: Node) -> Iterable[Node]:
    yield node
    for each in node.sources:
        yield from _under(each)
