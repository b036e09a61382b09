"""How many edges a second there are: exactly where that can be worked out, else by a sample; and which it is.

    every 4 s   |       |       |       |        1/4 + 1/6 - 1/12 = 1/3 a second: where both have an edge
    every 6 s   |           |           |        it is one

Over one period where it is short, else by the recursion over residue classes (`density`), else from edges
drawn at random: one that k of the pairs have is drawn k times too often, and counts 1/k (Karp, Luby, Madras,
"Monte-Carlo approximation algorithms for enumeration problems", 1989).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import gcd

import numpy as np

from weft.share.nodes import Edges, Rate, StreamPlan
from weft.share.slicing import Pair, most_edges
from weft.share.weave.density import TooMany, density
from weft.share.weave.points import LONGEST, an_edge_of, has_edge, period_of
from weft.times import SECOND

FEW = 32  # pairs: of more the recursion is hopeless
STEPS = 200  # of it
DRAWN = 1 << 12  # edges of a sample, fewer where each is looked for among many pairs
_LOOKED = 1 << 22  # of these, times pairs
_LEAST = 1 << 8


def rate_of(edges: Edges) -> Rate:
    """Of the slices that are kept."""
    if edges.known is not None:
        return edges.known
    if edges.grain is not None and edges.is_uniform:
        return Rate(SECOND / edges.grain)
    return union_rate(edges.pairs)


def fine_rate(edges: Edges) -> float:
    """Of the slices that batches are cut into."""
    return rate_of(edges).value if edges.grain is None else SECOND / edges.grain


def rated(plan: StreamPlan) -> StreamPlan:
    """The plan with all its rates found out."""
    feeds = tuple(
        feed if feed.edges is None else replace(feed, edges=_known(feed.edges)) for feed in plan.feeds
    )
    return replace(plan, edges=_known(plan.edges), feeds=feeds)


def _known(edges: Edges) -> Edges:
    return edges if edges.known is not None else replace(edges, known=rate_of(edges))


@lru_cache(maxsize=64)
def union_rate(pairs: tuple[Pair, ...]) -> Rate:
    """Of all edges that one of the pairs (slide, phase) has; no two pairs are the same."""
    if len({slide for slide, _ in pairs}) <= 1:  # phases of one slide never meet
        return Rate(most_edges(pairs))
    unit = gcd(*(part for pair in pairs for part in pair))
    scaled = [(slide // unit, phase // unit) for slide, phase in pairs]
    found = _counted(scaled)
    if found is None and len(pairs) <= FEW:
        found = _peeled(scaled)
    if found is not None:
        return Rate(found * (SECOND / unit))
    return Rate(_drawn(scaled) * (SECOND / unit), exact=False)


def _counted(pairs: list[Pair]) -> float | None:
    """Edges in a unit of time, counted over one period; None: it is too long."""
    period = period_of((slide for slide, _ in pairs), LONGEST)
    if period is None:
        return None
    edges = np.zeros(period, bool)
    for slide, phase in pairs:
        edges[phase % slide :: slide] = True
    return float(edges.mean())


def _peeled(pairs: list[Pair]) -> float | None:
    try:
        return density(pairs, STEPS)
    except TooMany:
        return None


def _drawn(pairs: list[Pair], seed: int = 0) -> float:
    slides, phases = np.array(pairs, np.int64).T
    count = min(DRAWN, max(_LEAST, _LOOKED // len(pairs)))
    random, rates = np.random.default_rng(seed), 1.0 / slides
    chosen = random.choice(len(pairs), count, p=rates / rates.sum())
    times = an_edge_of(slides[chosen], phases[chosen], random)
    having = np.sum([has_edge(times, [pair]) for pair in pairs], axis=0)
    return float(rates.sum() * (1.0 / having).mean())
