"""The relations of all queries as one graph: equal ones are one node, joins of two streams share chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.plan.lookups import lookup
from weft.plan.relations import Emitted, Paired, Relation
from weft.plan.relationtree import below
from weft.share.relations.links import Chain, Link, link, turned
from weft.share.relations.lowering import lowered
from weft.share.relations.many import Many, joined
from weft.share.relations.means import Means
from weft.share.relations.strategy import Strategy, going_by_lives
from weft.times import Instant

Key = tuple[Relation, Instant]  # a relation, and after which time it begins


@dataclass(frozen=True, slots=True)
class Node:
    """A relation that some queries rest on, and what carries it out over which others."""

    key: Key
    means: Means
    sources: tuple[Key, ...]
    queries: tuple[str, ...]
    link: Link | None = None  # of a tap
    many: Many | None = None  # of a join of three and more

    @property
    def relation(self) -> Relation:
        return self.key[0]


@dataclass(frozen=True, slots=True)
class Told:
    """A query: what is told, and the node that it is told of."""

    relation: Emitted
    key: Key


@dataclass(frozen=True, slots=True)
class Weave:
    """All queries. A node comes before those that rest on it."""

    tops: Mapping[str, Told]
    nodes: Mapping[Key, Node]

    @property
    def chains(self) -> dict[Chain, dict[Link, tuple[str, ...]]]:
        """The joins of each chain, and whose they are."""
        found: dict[Chain, dict[Link, tuple[str, ...]]] = {}
        for node in self.nodes.values():
            if node.link is not None:
                some = found.setdefault(node.link.chain, {})
                some[node.link] = tuple(dict.fromkeys((*some.get(node.link, ()), *node.queries)))
        return found

    @property
    def chains_as_written(self) -> dict[Chain, dict[Link, tuple[str, ...]]]:
        """The same, in the same order, with the sides of each in the order of its first join."""
        written = [_as_written(links) for links in self.chains.values()]
        return {next(iter(links)).chain: links for links in written}


def _as_written(links: dict[Link, tuple[str, ...]]) -> dict[Link, tuple[str, ...]]:
    if not next(iter(links)).turned:
        return links
    return {turned(each): queries for each, queries in links.items()}


def weave(asked: Mapping[str, Key], strategy: Strategy = Strategy.PATTERNS) -> Weave:
    """The graph of these queries, each of which sees rows after some time alone."""
    wanted = {name: (lowered(relation), bound) for name, (relation, bound) in asked.items()}
    weaver = _Weaver(strategy, going_by_lives(top for top, _ in wanted.values()))
    tops = {}
    for name, (top, bound) in wanted.items():
        assert isinstance(top, Emitted)
        tops[name] = Told(top, weaver.add(top.source, bound, name))
    return Weave(tops, {key: weaver.node(key) for key in weaver.sources})


@dataclass(slots=True)
class _Weaver:
    strategy: Strategy
    by_lives: frozenset[Relation]  # in which no strategy but patterns has a say
    sources: dict[Key, tuple[Key, ...]] = field(default_factory=dict)
    queries: dict[Key, dict[str, None]] = field(default_factory=dict)

    def add(self, relation: Relation, bound: Instant, query: str) -> Key:
        """The relation with all below it, for one query."""
        key = (relation, bound)
        under = tuple(self.add(each, bound, query) for each in _carried(relation, self.means(relation)))
        self.sources.setdefault(key, under)
        self.queries.setdefault(key, {})[query] = None
        return key

    def means(self, relation: Relation) -> Means:
        strategy = Strategy.PATTERNS if relation in self.by_lives else self.strategy
        return strategy.means(relation)

    def node(self, key: Key) -> Node:
        (relation, bound), by = key, self.means(key[0])
        linked = link(relation, bound) if by is Means.TAP and isinstance(relation, Paired) else None
        many = joined(relation) if by is Means.ORDERED else None
        return Node(key, by, self.sources[key], tuple(self.queries[key]), linked, many)


def _carried(relation: Relation, by: Means) -> tuple[Relation, ...]:
    """The relations below that are nodes of their own: a chain reads by itself, and so does GROUP BY look."""
    match by:
        case Means.TAP:
            return ()
        case Means.GROUPS_AS_OF:
            (seen,) = below(relation)
            return below(seen)
        case Means.CONSULTS | Means.AWAITS:
            found = lookup(relation)
            assert found is not None
            return (found.rows,)
        case Means.ORDERED:
            many = joined(relation)
            assert many is not None
            return many.sources
        case _:
            return below(relation)
