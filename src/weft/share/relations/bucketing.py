"""Which relations can be carried out in buckets, and by which key: whatever meets must lie in one bucket.

    q1   DISTINCT k, v of a            ┐ a component: what they hold is theirs together
    q2   COUNT by k of that            ┘ rows of a by k
    q3   a JOIN b on k                   rows of a by k, rows of b by k    agrees with the others: one spread
    q4   DISTINCT v of a                 rows of a by v                    another spread
    q5   COUNT of all of a               no key: it stays in the driver

What queries share is shared in the buckets as well: either all of a component are there, or none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from weft.plan.relations import Entries, Relation, Rows
from weft.plan.relationtree import columns, rewrite_up, walk
from weft.share.nodes import SharedPlan, Woven
from weft.share.relations.keys import NoKey, Parting, Partings, partings
from weft.share.relations.lowering import lowered
from weft.share.relations.weave import Key, Weave, weave
from weft.times import BEGINNING, Instant

_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Spread:
    """Queries whose rows are parted alike: those of each stream by the hash of these expressions."""

    queries: tuple[str, ...]
    by: tuple[tuple[str, tuple[str, ...]], ...]  # stream and canonical expressions, sorted by stream

    def keys(self, stream: str) -> tuple[str, ...]:
        """By what the rows of a stream are parted; nothing: it does not read the stream."""
        return dict(self.by).get(stream, ())


@dataclass(frozen=True, slots=True)
class Bucketing:
    """The queries that can lie in buckets, and why each of the others cannot."""

    spreads: tuple[Spread, ...] = ()
    stay: tuple[tuple[str, str], ...] = ()  # query and reason

    def queries(self) -> frozenset[str]:
        """Those that can."""
        return frozenset(name for spread in self.spreads for name in spread.queries)


def bucketing(asked: Mapping[str, Key], stay: Mapping[str, str] = _NONE) -> Bucketing:
    """How queries, each of which sees rows after some time alone, can be carried out in buckets.

    `stay`: queries that cannot, whatever their keys, and why.
    """
    woven = weave(asked)
    drafts: list[_Draft] = []
    staying: dict[str, str] = {}
    for names in components(woven):
        found, missing = _ways(woven, names, stay)
        ways = _all_of(list(found.values())) if not missing else ()
        if ways:
            drafts.append(_Draft(names, ways))
        else:
            staying |= dict.fromkeys(names, _together(names, missing)) | missing
    spreads = tuple(draft.spread() for draft in _joined(drafts))
    return Bucketing(spreads, tuple((name, staying[name]) for name in asked if name in staying))


def _ways(
    woven: Weave, names: Sequence[str], stay: Mapping[str, str]
) -> tuple[dict[str, Partings], dict[str, str]]:
    """How the rows of each query can be parted, and why those of others cannot."""
    found: dict[str, Partings] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            found[name] = partings(woven.tops[name].relation)
        except NoKey as error:
            missing[name] = str(error)
    return found, {name: stay[name] for name in names if name in stay} | missing


def _together(names: Iterable[str], missing: Mapping[str, str]) -> str:
    """Why queries stay that could lie in buckets by themselves."""
    if missing:
        return f"it shares what it holds with {', '.join(missing)}"
    return f"{', '.join(names)} share what they hold, and go by different columns"


def bucketing_of(plan: SharedPlan, stay: Mapping[str, str] = _NONE) -> Bucketing:
    """The same of a plan, all of whose queries see all rows."""
    return bucketing(asked_of(plan.related, {}), stay)


def asked_of(related: Iterable[Woven], bounds: Mapping[str, Instant]) -> dict[str, Key]:
    """Each query, and after which time it begins."""
    return {each.query.name: (each.relation, bounds.get(each.query.name, BEGINNING)) for each in related}


def parted(relation: Relation, spread: Spread) -> Relation:
    """The relation, each of whose leaves says how its rows lie in buckets."""
    return rewrite_up(
        relation, lambda node: replace(node, by=spread.keys(node.stream)) if isinstance(node, Rows) else node
    )


def key_columns(relation: Relation) -> tuple[int, ...]:
    """Where the rows of a relation say in which bucket they lie, as its leaves have it: key by key."""
    by = {leaf.stream: leaf.by for leaf in walk(relation) if isinstance(leaf, Rows)}
    names = [column.name for column in columns(relation)]
    ways = [way for way in partings(lowered(relation)) if way.columns]
    found = []
    for keys in zip(*by.values(), strict=True):
        wanted = tuple(sorted(zip(by, keys, strict=True)))
        way = next(way for way in ways if way.by == wanted)
        found.append(next(at for at, name in enumerate(names) if name in way.columns))
    return tuple(found)


def components(woven: Weave) -> list[tuple[str, ...]]:
    """Queries that have what holds rows in common, directly or by way of others; a leaf holds nothing."""
    shared = [node.queries for node in woven.nodes.values() if not isinstance(node.relation, Rows | Entries)]
    shared += [tuple(chain.from_iterable(links.values())) for links in woven.chains.values()]
    sets = {name: frozenset((name,)) for name in woven.tops}
    for names in shared:
        together = frozenset().union(*(sets[name] for name in names))
        sets |= dict.fromkeys(together, together)
    return list(dict.fromkeys(tuple(name for name in woven.tops if name in found) for found in sets.values()))


@dataclass(frozen=True, slots=True)
class _Draft:
    """Some queries, and all ways to part their rows."""

    queries: tuple[str, ...]
    ways: Partings

    def spread(self) -> Spread:
        """By all columns that will do, together: more of them spread rows more evenly."""
        ways = [dict(way.by) for way in self.ways]
        streams = sorted(ways[0])
        return Spread(self.queries, tuple((stream, tuple(way[stream] for way in ways)) for stream in streams))

    def streams(self) -> set[str]:
        return {stream for way in self.ways for stream, _ in way.by}

    def join(self, other: _Draft) -> _Draft | None:
        """Both as one, if they read a stream in common and agree in how to part rows."""
        if not self.streams() & other.streams():
            return None
        ways = _agreed(self.ways, other.ways)
        return _Draft(self.queries + other.queries, ways) if ways else None


def _all_of(found: Sequence[Partings]) -> Partings:
    """The ways to part rows that are good for all these queries."""
    first, *others = found
    for other in others:
        first = _agreed(first, other)
    return tuple(dict.fromkeys(replace(way, columns=frozenset()) for way in first))


def _agreed(ways: Iterable[Parting], others: Iterable[Parting]) -> Partings:
    met = [way.meet(other) for way in ways for other in others]
    return tuple(dict.fromkeys(replace(way, columns=frozenset()) for way in met if way is not None))


def _joined(drafts: Iterable[_Draft]) -> list[_Draft]:
    """Those together that agree; the ones with the fewest ways first, for they have the least choice."""
    made: list[_Draft] = []
    for draft in sorted(drafts, key=lambda each: len(each.ways)):
        for at, known in enumerate(made):
            if (both := known.join(draft)) is not None:
                made[at] = both
                break
        else:
            made.append(draft)
    return made
