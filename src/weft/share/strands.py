"""Strands: groups of queries whose cells are cut at the edges of their own windows alone.

    rows ── cells cut at the edges of all windows ─┬─ strand 0   folded into the slices of its windows
                                                   └─ strand 1   folded into the slices of its own

The literature's third level (TriWeave). Which strand a query is of stands among the keys that it picks groups
by, as `strand(1)`; none is strand 0. So a query changes its strand as it changes its keys, by a switch. One
that is added joins the strand that it adds the fewest edges to (Guirguis's incremental weaving, without the
merges, which are for a switch to make).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from weft.share.nodes import Edges
from weft.share.slicing import Pair, cut_by, most_edges
from weft.share.weave.points import probes_of
from weft.share.weave.rates import rate_of

_STRAND = re.compile(r"strand\((\d+)\)")

Keys = tuple[str, ...]


def strand_of(keys: Iterable[str]) -> int:
    """The strand of a query that picks by these keys."""
    return next((int(found[1]) for key in keys if (found := _STRAND.fullmatch(key))), 0)


def without_strand(keys: Iterable[str]) -> Keys:
    """The keys alone."""
    return tuple(key for key in keys if not _STRAND.fullmatch(key))


def in_strand(keys: Iterable[str], strand: int) -> Keys:
    """The same keys in another strand."""
    return (*without_strand(keys), *([f"strand({strand})"] if strand else []))


def nearest(pairs: Iterable[Pair], strands: Mapping[int, Edges]) -> int:
    """The strand that a window adds the fewest edges to; of several, the one with the fewest of its own."""
    mine = tuple(pairs)
    return min(strands, key=lambda at: (_added(mine, strands[at]), rate_of(strands[at]).value, at))


def _added(pairs: tuple[Pair, ...], edges: Edges) -> float:
    """Edges a second. Where every multiple of a grain is one, a window may make the grain finer."""
    if edges.is_uniform:
        finer = cut_by(tuple(sorted({*edges.pairs, *pairs})))
        return (rate_of(finer).value if finer.is_uniform else most_edges(finer.pairs)) - rate_of(edges).value
    probes = probes_of([pairs], [edges.pairs])
    return probes.rate - probes.common([edges.pairs])
