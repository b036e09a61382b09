"""Who reads what of a stream's plan: among whom the price of what is shared is split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from weft.share.nodes import Partial, StreamPlan, Tap

Names = Sequence[str]
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Readers:
    """Names of queries: all, by predicate, by feed, and by partial of a feed.

    `held` are partials that queries read of a feed itself, and not of one that is combined from it.
    """

    everyone: Names
    predicates: Mapping[str, Names]
    feeds: Mapping[int, Names]
    partials: Mapping[tuple[int, Partial], Names]
    held: Mapping[tuple[int, Partial], Names]


def readers(plan: StreamPlan) -> Readers:
    """Who reads what; who reads a feed reads the one it is combined from as well."""
    feeds: dict[int, dict[str, None]] = defaultdict(dict)
    partials: dict[tuple[int, Partial], dict[str, None]] = defaultdict(dict)
    held: dict[tuple[int, Partial], dict[str, None]] = defaultdict(dict)
    predicates: dict[str, dict[str, None]] = defaultdict(dict)
    for tap in plan.taps:
        for at, partial in (each for half in tap.halves for each in _read_by(plan, half)):
            held[at, partial][tap.query.name] = None
            for feed in dict.fromkeys((at, plan.root_of(at))):
                feeds[feed][tap.query.name] = None
                partials[feed, partial][tap.query.name] = None
            if partial.where is not None:
                predicates[partial.where.sql][tap.query.name] = None
    for standing in plan.standing:
        if standing.where is not None:
            predicates[standing.where.sql][standing.query.name] = None
    queries = [*(tap.query for tap in plan.taps), *(one.query for one in plan.standing)]
    return Readers(
        tuple(query.name for query in queries),
        _named(predicates),
        _named(feeds),
        _named(partials),
        _named(held),
    )


def _named(found: Mapping[K, Mapping[str, None]]) -> defaultdict[K, Names]:
    """Nobody reads what only queries needed that are gone."""
    return defaultdict(tuple, {key: tuple(names) for key, names in found.items()})


def _read_by(plan: StreamPlan, tap: Tap) -> list[tuple[int, Partial]]:
    """The partials that a query reads, each with its feed."""
    read = dict.fromkeys(place for each in tap.sets for place in each.places)
    return [(feed, plan.feeds[feed].partials[at]) for feed, at in read]


def aggregated(plan: StreamPlan, tap: Tap) -> list[tuple[int, Partial]]:
    """What is made of rows for a query: partials, each with the feed that is not combined from another."""
    read = (each for half in tap.halves for each in _read_by(plan, half))
    return list(dict.fromkeys((plan.root_of(feed), partial) for feed, partial in read))
