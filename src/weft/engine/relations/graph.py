"""The relations of all queries as one graph: equal ones are one node, and are carried out once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from weft.engine.relations.build import operator
from weft.engine.relations.chained import Chaining, Tapping
from weft.engine.relations.consulting import Consulting
from weft.engine.relations.deduplicating import Deduplicating
from weft.engine.relations.editions import Tables, Version
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.grouping import GroupingAsOf
from weft.engine.relations.joining import Joining
from weft.engine.relations.looking import Looking
from weft.engine.relations.operator import Operator, Told
from weft.engine.relations.pairing import PairingLives
from weft.engine.relations.reading import Reading
from weft.engine.relations.revising import Revising
from weft.engine.relations.telling import Telling
from weft.kernels.relations.tables import Changes
from weft.lang.bodies import Emission
from weft.plan.lookups import lookup
from weft.plan.nodes import Stream
from weft.plan.relations import Entries, Paired, Rows, Whether
from weft.plan.relationtree import columns, streams
from weft.share.nodes import Woven
from weft.share.relations.means import Means
from weft.share.relations.strategy import Strategy
from weft.share.relations.weave import ChainKey, Key, Weave, weave
from weft.share.relations.weave import Node as Planned
from weft.times import BEGINNING, Instant


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

    def __init__(self, finisher: Finisher, tables: Tables, strategy: Strategy = Strategy.PATTERNS) -> None:
        self._finisher, self._tables, self._strategy = finisher, tables, strategy
        self._nodes: dict[Key, Node] = {}
        self._upto: dict[Key, Instant] = {}  # how far each node was complete in the last step
        self._chains: dict[ChainKey, Chaining] = {}
        self.tops: dict[str, Top] = {}

    def adopt(
        self, related: Iterable[Woven], declared: Mapping[str, Stream], bounds: Mapping[str, Instant]
    ) -> None:
        """Carry out these queries: what stays goes on, what is new begins with nothing."""
        before, self._nodes = self._nodes, {}
        tops, self.tops = self.tops, {}
        woven = weave(
            {each.query.name: (each.relation, bounds.get(each.query.name, BEGINNING)) for each in related},
            self._strategy,
        )
        self._link(woven, declared)
        for key, planned in woven.nodes.items():
            self._nodes[key] = self._node(planned, before.get(key), declared)
        for name, told in woven.tops.items():
            node, top = self._nodes[told.key], tops.get(name)
            if top is None or top.node is not node or top.telling.relation != told.relation:
                top = Top(name, node, Telling(told.relation))
            top.below = list(_under(node))
            self.tops[name] = top

    def _node(self, planned: Planned, known: Node | None, declared: Mapping[str, Stream]) -> Node:
        """What carries it out: as before, or new; a tap goes on with the chain as it is now."""
        relation, bound = planned.key
        chain = None if planned.link is None else self._chains[(planned.link.chain, bound)]
        if known is not None:
            if chain is not None and isinstance(known.operator, Tapping):
                known.operator.chain = chain
            return known
        sources = tuple(self._nodes[each] for each in planned.sources)
        return Node(planned.key, self._operator(planned, chain, declared), sources, streams(relation))

    def _operator(self, planned: Planned, chain: Chaining | None, declared: Mapping[str, Stream]) -> Operator:
        relation, _ = planned.key
        match planned.means, relation:
            case Means.TAP, Paired() if planned.link is not None and chain is not None:
                return Tapping(relation, planned.link, chain)
            case Means.CONSULTS, Paired() | Whether() if (found := lookup(relation)) is not None:
                editions = self._tables.editions(found.entries, self._finisher)
                return Consulting(relation, found, editions, self._finisher)
            case Means.VERSIONS, Entries():
                return Revising(columns(relation), self._tables.editions(relation, self._finisher))
            case _:
                return operator(planned, declared, self._finisher)

    def _link(self, woven: Weave, declared: Mapping[str, Stream]) -> None:
        """The chains of all joins; one that stays goes on with the rows that it holds."""
        before, self._chains = self._chains, {}
        for key, links in woven.chains.items():
            chain, bound = key
            times = declared[chain.left].statement.time_column, declared[chain.right].statement.time_column
            known = before.get(key)
            if known is None:
                known = Chaining(chain, tuple(links), times, bound, self._finisher)
            self._chains[key] = known.relinked(tuple(links))

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
        for node in self._nodes.values():
            if isinstance(node.operator, Consulting | Revising) and node.operator.editions.table == table:
                node.operator.editions.put(version)

    def stand(self, stream: str, complete: Instant) -> None:
        """The rows that come next come when their stream is complete before this time."""
        for (relation, _), node in self._nodes.items():
            if isinstance(relation, Rows) and relation.stream == stream:
                assert isinstance(node.operator, Reading)
                node.operator.complete = complete
        for chain in self._chains.values():
            chain.stand(stream, complete)

    def end(self, latest: Mapping[str, Instant]) -> None:
        """The next step is the last: no rows come after these times."""
        for node in self._nodes.values():
            if isinstance(node.operator, Looking | GroupingAsOf):
                node.operator.end(latest)

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
            if not isinstance(node.operator, PairingLives | Tapping | Joining | Consulting | Revising)
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

    def restore(self, saved: Callable[[str], pa.Table | None]) -> None:
        """Go on from what was saved, once the rows of then are back."""
        for key, node in self._nodes.items():
            if isinstance(node.operator, Deduplicating):
                table = saved(_name(key))
                if table is not None:
                    node.operator.restore(table)

    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    @property
    def chains(self) -> list[Chaining]:
        return list(self._chains.values())

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
