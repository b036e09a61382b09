"""Ways to cut a chain that CPU-Opt is judged by: all there are, and windows that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from weft.share.chain import Chain, Chained
from weft.times import SECOND, Duration


def held_by(chained: Chained, chain: Chain) -> float:
    """Rows that all links hold."""
    return sum(chained.held(start, end) for start, end in chain.links)


def pulled_up(chained: Chained) -> Chain:
    """One link for all windows: every result is looked at for every query."""
    return Chain(chained.windows[-1:])


def all_chains(chained: Chained) -> Iterator[Chain]:
    """Every way to cut: 2^(windows - 1) of them."""
    *inner, last = chained.windows
    for count in range(len(inner) + 1):
        for cuts in combinations(inner, count):
            yield Chain((*cuts, last))


def exhaustive(chained: Chained) -> Chain:
    """The cheapest chain, by trying all: a yardstick."""
    costs = {link: chained.cost(*link) for link in combinations((0, *chained.windows), 2)}
    return min(all_chains(chained), key=lambda chain: sum(costs[link] for link in chain.links))


def split(chain: Chain, at: Duration) -> Chain:
    """One link becomes two: it ends at `at`, and the new one behind it fills with the rows it passes on."""
    if not any(start < at < end for start, end in chain.links):
        raise ValueError(f"no link of {chain} has {at / SECOND:g} s inside")
    return Chain(tuple(sorted((*chain.ends, at))))


def merge(chain: Chain, at: Duration) -> Chain:
    """The two links that meet at `at` become one, older rows first."""
    if at not in chain.ends[:-1]:
        raise ValueError(f"no two links of {chain} meet at {at / SECOND:g} s")
    return Chain(tuple(end for end in chain.ends if end != at))


def with_window(chain: Chain, window: Duration) -> Chain:
    """With a cut at a window that comes: a split, or a link at the end, which fills as rows get that old."""
    if window in chain.ends:
        return chain
    return Chain((*chain.ends, window)) if window > chain.ends[-1] else split(chain, window)


def without_window(chain: Chain, window: Duration, left: Sequence[Duration]) -> Chain:
    """Without the cut at a window that goes, unless one of those left ends there; the rest is dropped."""
    longest = max(left)
    kept = tuple(end for end in chain.ends if end < longest and (end != window or window in left))
    return Chain((*kept, longest))
