"""The relations of all queries as one graph: equal ones are one node, and are carried out once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field

import pyarrow as pa

from weft.engine.relations.build import operator
from weft.engine.relations.chained import Chaining, Tapping
from weft.engine.relations.consulting import Consulting
from weft.engine.relations.current import Awaiting, Current, Replacing
from weft.engine.relations.deduplicating import Deduplicating
from weft.engine.relations.editions import Tables, Version
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.flows import Flows
from weft.engine.relations.grouping import GroupingAsOf
from weft.engine.relations.joining import Joining
from weft.engine.relations.looking import Looking
from weft.engine.relations.matched import by_stream
from weft.engine.relations.operator import Operator, Told
from weft.engine.relations.pairing import PairingLives
from weft.engine.relations.parting import RowsBy
from weft.engine.relations.reading import Reading
from weft.engine.relations.revising import Revising
from weft.engine.relations.telling import Telling
from weft.engine.relations.turning import flows_wait, turn
from weft.kernels.relations.tables import Changes
from weft.lang.bodies import Emission
from weft.plan.lookups import lookup
from weft.plan.nodes import Stream
from weft.plan.relations import Entries, Paired, Relation, Rows, Whether
from weft.plan.relationtree import columns, streams
from weft.share.model.forecast import Basis
from weft.share.nodes import Woven
from weft.share.relations.links import Chain
from weft.share.relations.means import Means
from weft.share.relations.strategy import Strategy
from weft.share.relations.weave import Key, Weave, weave
from weft.share.relations.weave import Node as Planned
from weft.times import BEGINNING, Instant

# What holds rows, but tells nothing of them because streams go on; tables of changes are asked themselves.
_AT_ONCE = (PairingLives, Tapping, Joining, Consulting, Revising, Awaiting)


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

    def __init__(
        self,
        finisher: Finisher,
        tables: Tables,
        strategy: Strategy = Strategy.PATTERNS,
        flows: Flows | None = None,
        settled: Instant = BEGINNING,
    ) -> None:
        """`settled`: all that tables held up to this time was told before, with a drain."""
        self._finisher, self._tables, self._strategy = finisher, tables, strategy
        self._settled = settled
        self._flows = Flows() if flows is None else flows
        self._is_new = True  # nothing was told yet: what tables hold is not new because this is
        self._nodes: dict[Key, Node] = {}
        self._upto: dict[Key, Instant] = {}  # how far each node was complete in the last step
        self._chains: dict[Chain, Chaining] = {}
        self._fresh: Set[Key] = frozenset()  # nodes that came with what was adopted last
        self.tops: dict[str, Top] = {}

    def adopt(
        self,
        related: Iterable[Woven],
        declared: Mapping[str, Stream],
        bounds: Mapping[str, Instant],
        tells_after: Mapping[str, Instant],
        basis: Basis | None = None,
    ) -> None:
        """Carry out these queries: what stays goes on, what is new begins with nothing.

        `bounds`: after when some see rows; `tells_after`: after when some tell of them. `basis`: what is
        known of the streams, by which rows of chains lie together.
        """
        before, self._nodes = self._nodes, {}
        tops, self.tops = self.tops, {}
        woven = weave(
            {each.query.name: (each.relation, bounds.get(each.query.name, BEGINNING)) for each in related},
            self._strategy,
        )
        self._link(woven, declared, basis)
        for key, planned in woven.nodes.items():
            self._nodes[key] = self._node(planned, before.get(key), declared)
        self._fresh = self._nodes.keys() - before.keys()
        self._tap()
        for name, told in woven.tops.items():
            node, top = self._nodes[told.key], tops.get(name)
            after = tells_after.get(name, BEGINNING)
            if top is None or top.node is not node or not top.telling.is_of(told.relation, after):
                top = Top(name, node, Telling(told.relation, after))
            top.below = list(_under(node))
            self.tops[name] = top

    def _node(self, planned: Planned, known: Node | None, declared: Mapping[str, Stream]) -> Node:
        """What carries it out: as before, or new."""
        chain = None if planned.link is None else self._chains[planned.link.chain]
        if known is not None:
            return known
        sources = tuple(self._nodes[each] for each in planned.sources)
        return Node(planned.key, self._operator(planned, chain, declared), sources, streams(planned.relation))

    def _operator(self, planned: Planned, chain: Chaining | None, declared: Mapping[str, Stream]) -> Operator:
        relation, bound = planned.key
        match planned.means, relation:
            case Means.TAP, Paired() if planned.link is not None and chain is not None:
                return Tapping(relation, planned.link, chain)
            case Means.CONSULTS, Paired() | Whether() if (found := lookup(relation)) is not None:
                editions = self._tables.editions(found.entries, self._finisher)
                return Consulting(relation, found, editions, self._finisher)
            case Means.AWAITS, Paired() | Whether() if (found := lookup(relation)) is not None:
                return Awaiting(relation, found, self._current(found.entries, bound), self._finisher)
            case Means.LATEST, Entries():
                return Replacing(columns(relation), self._current(relation, bound))
            case Means.VERSIONS, Entries():
                editions = self._tables.editions(relation, self._finisher)
                return Revising(columns(relation), editions, max(bound, self._settled))
            case _:
                return operator(planned, declared, self._finisher)

    def _current(self, leaf: Entries, bound: Instant) -> Current:
        known = self._flows[leaf.table].table.columns
        return Current(leaf, bound, known, self._finisher, resumed=self._is_new)

    def _link(self, woven: Weave, declared: Mapping[str, Stream], basis: Basis | None) -> None:
        """The chains of all joins; one that stays goes on with the rows that it holds."""
        before, self._chains = self._chains, {}
        for chain, links in woven.chains.items():
            times = declared[chain.left].statement.time_column, declared[chain.right].statement.time_column
            known = before.get(chain)
            if known is None:
                known = Chaining(chain, tuple(links), times, self._finisher, basis)
            self._chains[chain] = known.relinked(tuple(links), basis)

    def relink(self, other: Graph, basis: Basis | None) -> None:
        """Have the chains hold what all joins of those of another graph want."""
        for chain, known in self._chains.items():
            self._chains[chain] = known.relinked(other._chains[chain].links, basis)
        self._tap()

    def take_over(self, other: Graph) -> None:
        """Go on with the queries of another graph as they are there: its chains, and all that is new."""
        for key in other._nodes.keys() & self._fresh:
            self._nodes[key].operator = other._nodes[key].operator
        self._chains |= other._chains
        self._tap()
        for name, top in other.tops.items():
            self.tops[name].telling = top.telling

    def _tap(self) -> None:
        for node in self._nodes.values():
            if isinstance(node.operator, Tapping):
                node.operator.chain = self._chains[node.operator.link.chain]

    def feed(self, stream: str, rows: RowsBy) -> None:
        """The rows of a batch."""
        for (relation, _), node in self._nodes.items():
            if isinstance(relation, Rows) and relation.stream == stream:
                assert isinstance(node.operator, Reading)
                node.operator.feed(rows(relation.by))
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

    def begin(self, first: Mapping[str, Instant]) -> None:
        """No rows came before these times; windows are answered from then on, or from when a query came."""
        for (_, bound), node in self._nodes.items():
            if isinstance(node.operator, Looking | GroupingAsOf):
                came = min((first[name] for name in node.streams if name in first), default=BEGINNING)
                node.operator.begin(max(came, bound + 1))

    def end(self, latest: Mapping[str, Instant]) -> None:
        """The next step is the last: no rows come after these times."""
        for node in self._nodes.values():
            if isinstance(node.operator, Looking | GroupingAsOf):
                node.operator.end(latest)

    def advance(self, complete: Mapping[str, Instant]) -> Answers:
        """What is new of each query, once its streams are complete before these times."""
        self._is_new = False
        turn(self._flows, self._operators(), complete)
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

    def _operators(self) -> list[Operator]:
        return [node.operator for node in self._nodes.values()]

    def waits(self, complete: Mapping[str, Instant]) -> bool:
        """Does anything that holds rows, and tells of them as streams go on, get further?"""
        nodes = [node for node in self._nodes.values() if not isinstance(node.operator, _AT_ONCE)]
        holding = [node for node in nodes if node.operator.rows]
        holding += [top.node for top in self.tops.values() if len(top.telling)]
        further = any(_upto(node, complete) > self._upto.get(node.key, BEGINNING) for node in holding)
        return further or flows_wait(self._flows, self._operators(), complete)

    def failed(self) -> dict[str, int]:
        """On how many rows an expression failed since this was last asked, by query."""
        return self._by_query({key: node.operator.failed() for key, node in self._nodes.items()})

    def late(self) -> dict[str, int]:
        """How many rows came too late since this was last asked, by query."""
        reading = {k: n.operator for k, n in self._nodes.items() if isinstance(n.operator, Reading | Tapping)}
        found = {key: each.late() for key, each in reading.items()}
        for key, node in self._nodes.items():
            if isinstance(node.operator, Awaiting | Replacing):
                found[key] = node.operator.current.told_late()
        return self._by_query(found)

    def _by_query(self, counts: Mapping[Key, int]) -> dict[str, int]:
        found = {
            top.name: sum(counts.get(key, 0) for key in {node.key for node in top.below})
            for top in self.tops.values()
        }
        return {name: count for name, count in found.items() if count}

    def save(self) -> dict[str, pa.Table]:
        """What cannot be made again of the rows in the log, by the names of its nodes."""
        return {
            name_of(key): node.operator.save()
            for key, node in self._nodes.items()
            if isinstance(node.operator, Deduplicating | Awaiting)
        }

    def saved_of(self) -> dict[str, Relation]:
        """The relations of which something is saved, by the names of their nodes."""
        kept = (key for key, node in self._nodes.items() if isinstance(node.operator, Deduplicating))
        return {name_of(key): key[0] for key in kept}

    def restore(self, saved: Callable[[str], pa.Table | None]) -> None:
        """Go on from what was saved, once the rows of then are back."""
        for key, node in self._nodes.items():
            if isinstance(node.operator, Deduplicating | Awaiting):
                table = saved(name_of(key))
                if table is not None:
                    node.operator.restore(table)

    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    @property
    def chains(self) -> list[Chaining]:
        return list(self._chains.values())

    def keys(self) -> dict[str, dict[str, int]]:
        """How many values the keys of joins have, by stream and key."""
        carried: list[Operator | Chaining] = [node.operator for node in self._nodes.values()]
        carried += self._chains.values()
        return by_stream(found for each in carried for found in each.matched())

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


def name_of(key: Key) -> str:
    """The same for equal nodes, in every process."""
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _under(node: Node) -> Iterable[Node]:
    yield node
    for each in node.sources:
        yield from _under(each)
