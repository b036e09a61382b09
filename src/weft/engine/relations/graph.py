"""The relations of all queries as one graph: equal ones are one node, and are carried out once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from weft.engine.relations.build import operator
from weft.engine.relations.chained import Chaining, Tapping
from weft.engine.relations.deduplicating import Deduplicating
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.joining import Joining, Many, flattened
from weft.engine.relations.lower import lowered
from weft.engine.relations.operator import Operator, Told
from weft.engine.relations.pairing import PairingLives
from weft.engine.relations.reading import Reading
from weft.engine.relations.strategy import Strategy, going_by_lives, is_strict
from weft.engine.relations.telling import Telling
from weft.kernels.relations.tables import Changes
from weft.lang.bodies import Emission
from weft.plan.nodes import Stream
from weft.plan.relations import AsOf, Emitted, Grouped, Paired, Relation, Rows
from weft.plan.relationtree import below, streams
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


@dataclass(slots=True)
class Answers:
    """What is new of queries: as they tell it, or what changes, and before when that is all."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    changes: dict[str, tuple[Changes, Instant]] = field(default_factory=dict)


class Graph:
    """What is carried out of relations. A node comes before those that rest on it."""

    def __init__(self, finisher: Finisher, strategy: Strategy = Strategy.PATTERNS) -> None:
        self._finisher, self._strategy = finisher, strategy
        self._by_lives: frozenset[Relation] = frozenset()
        self._nodes: dict[Key, Node] = {}
        self._upto: dict[Key, Instant] = {}  # how far each node was complete in the last step
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
        if self._strategy is not Strategy.PATTERNS:
            self._by_lives = going_by_lives(relation for relation, _ in asked.values())
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
            linked = self._linked(relation)
            under = self._carried(relation) if linked is None else ()
            sources = tuple(self._node(each, bound, before, declared) for each in under)
            node = before.get(key)
            if node is not None and linked is not None and isinstance(node.operator, Tapping):
                node.operator.chain = self._chains[(linked.chain, bound)]
            if node is None:
                made: Operator
                many = self._many(relation)
                if linked is not None and isinstance(relation, Paired):
                    made = Tapping(relation, linked, self._chains[(linked.chain, bound)])
                elif many is not None and isinstance(relation, Paired):
                    made = Joining(relation, many, self._finisher)
                else:
                    strategy = Strategy.PATTERNS if relation in self._by_lives else self._strategy
                    made = operator(relation, bound, declared, self._finisher, strategy)
                node = Node(key, made, sources, streams(relation))
            self._nodes[key] = node
        return self._nodes[key]

    def _link(self, asked: Iterable[Key], declared: Mapping[str, Stream]) -> None:
        """The chains of all joins; one that stays goes on with the rows that it holds."""
        links: dict[tuple[Chain, Instant], dict[Link, None]] = {}
        for relation, bound in asked:
            for node in self._nodes_of(relation):
                found = self._linked(node)
                if found is not None:
                    links.setdefault((found.chain, bound), {})[found] = None
        before, self._chains = self._chains, {}
        for key, some in links.items():
            chain, bound = key
            times = declared[chain.left].statement.time_column, declared[chain.right].statement.time_column
            known = before.get(key)
            if known is None:
                known = Chaining(chain, tuple(some), times, bound, self._finisher)
            self._chains[key] = known.relinked(tuple(some))

    def _nodes_of(self, relation: Relation) -> Iterable[Relation]:
        """The relation and all below it that are nodes of the graph."""
        yield relation
        for each in self._carried(relation):
            yield from self._nodes_of(each)

    def _carried(self, relation: Relation) -> tuple[Relation, ...]:
        """The relations below that are nodes of their own: GROUP BY looks by itself, as of each slide."""
        if isinstance(relation, Grouped) and isinstance(relation.source, AsOf):
            return below(relation.source)
        many = self._many(relation)
        return below(relation) if many is None else many.sources

    def _many(self, relation: Relation) -> Many | None:
        """A join of three and more, all of which have lives; the yardsticks know none."""
        if not isinstance(relation, Paired) or is_strict(relation):
            return None
        return flattened(relation) if self._strategy is Strategy.PATTERNS else None

    def _linked(self, relation: Relation) -> Link | None:
        """The join as part of a chain, which the yardsticks do not have either."""
        if not isinstance(relation, Paired) or self._strategy is not Strategy.PATTERNS:
            return None
        return link(relation)

    def feed(self, stream: str, rows: pa.Table) -> None:
        """The rows of a batch."""
        for (relation, _), node in self._nodes.items():
            if isinstance(relation, Rows) and relation.stream == stream:
                assert isinstance(node.operator, Reading)
                node.operator.feed(rows)
        for chain in self._chains.values():
            chain.feed(stream, rows)

    def advance(self, complete: Mapping[str, Instant]) -> Answers:
        """What is new of each query, once its streams are complete before these times."""
        for chain in self._chains.values():
            chain.meet(complete)
        for node in self._nodes.values():
            told = [each.told for each in node.sources if each.told is not None]
            upto = self._upto[node.key] = _upto(node, complete)
            node.told = node.operator.advance(told, upto)
        answers = Answers()
        for top in self.tops.values():
            assert top.node.told is not None
            upto = _upto(top.node, complete)
            if top.telling.relation.emission is Emission.CHANGES:
                answers.changes[top.name] = top.telling.changes(top.node.told, upto), upto
            elif (table := top.telling.answers(top.node.told, upto)).num_rows:
                answers.tables[top.name] = table
        for node in self._nodes.values():
            node.told = None
        for chain in self._chains.values():
            chain.settle()
        return answers

    def waits(self, complete: Mapping[str, Instant]) -> bool:
        """Does anything that holds rows, and tells of them as streams go on, get further?"""
        return any(
            node.operator.rows and _upto(node, complete) > self._upto.get(node.key, BEGINNING)
            for node in self._nodes.values()
            if not isinstance(node.operator, PairingLives | Tapping | Joining)
        ) or any(
            len(top.telling) and _upto(top.node, complete) > self._upto.get(top.node.key, BEGINNING)
            for top in self.tops.values()
        )

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


def _upto(node: Node, complete: Mapping[str, Instant]) -> Instant:
    return min((complete.get(stream, BEGINNING) for stream in node.streams), default=BEGINNING)


def _name(key: Key) -> str:
    """The same for equal nodes, in every process."""
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _under(node: Node) -> Iterable[Node]:
    yield node
    for each in node.sources:
        yield from _under(each)
