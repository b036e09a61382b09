"""What the live cells hold, and so with which window a query that is added later can start.

    rows taken in     . . . . . . . . . . . . . .|
    closed                          W
    cells held              [ . . . . . . . . . .|            for the queries that there are
    windows of a new one   [ . . . )     closed: never answered
                         [ . . . . . . . )   reaches back too far
                                [ . . . . . . . )             its first

Cells are held because some query still needs them, so each query vouches for its own partials and edges: they
are whole in every slice that starts after the query's bound, and not before the first of its windows that are
still to be answered. That holds for a query that itself started from what others held, too. Where it picks
groups by a signature, it vouches for rows with the bits that it asks for, and for no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from weft.engine.ingest import FeedKey, feed_key, is_finer
from weft.engine.windows import Reach, needed_from
from weft.kernels.picks import HasAll
from weft.lang.statements import WindowSpec
from weft.share.nodes import StreamPlan, Tap
from weft.share.slicing import Pair, lies_on, pairs_of
from weft.times import BEGINNING, Instant

Whole = Mapping[FeedKey, Mapping[str, Instant]]  # by feed and text of the partial: whole after that time
Need = tuple[FeedKey, str]  # a partial, as text, and the feed it is read from
Mask = tuple[str, int]  # a signature, as text, and the bits that rows have
Asking = tuple[Tap, Iterable[Need], Iterable[Mask]]  # a query, and what it asks of the cells


@dataclass(frozen=True, slots=True)
class Held:
    """After which time the cells have each partial, and are cut at each kind of edge."""

    partials: dict[FeedKey, dict[str, Instant]] = field(default_factory=dict)
    edges: dict[tuple[int, Pair], Instant] = field(default_factory=dict)  # by strand
    masks: dict[str, dict[int, Instant]] = field(default_factory=dict)  # by signature: rows with these bits
    apart: bool = False  # cells of a finer feed cannot be combined: they lie in other places


def held(taps: Iterable[Asking], floors: Mapping[str, Instant], reach: Reach) -> Held:
    """What queries vouch for; `floors` are bounds, `reach` how far they are answered."""
    found = Held()
    starts: dict[WindowSpec, Instant] = {}
    for tap, needed, masks in taps:
        window = tap.window
        if window not in starts:
            upto = reach.upto(window.range)
            starts[window] = needed_from(window.range, window.slide, window.offset, upto)
        after = max(floor_of(tap, floors), starts[window] - 1)
        strands = set()
        for key, text in needed:
            partials = found.partials.setdefault(key, {})
            partials[text] = min(after, partials.get(text, after))
            strands.add(key[3])
        for edge in product(strands, pairs_of(window)):
            found.edges[edge] = min(after, found.edges.get(edge, after))
        for signature, mask in masks:
            held_for = found.masks.setdefault(signature, {})
            held_for[mask] = min(after, held_for.get(mask, after))
    return found


def floor_of(tap: Tap, floors: Mapping[str, Instant]) -> Instant:
    """The time after which the windows start that a tap answers; `floors` are the bounds of queries."""
    return max(floors.get(tap.query.name, BEGINNING), tap.after)


def masks_of(plan: StreamPlan, tap: Tap) -> Iterator[Mask]:
    """The rows that a query asks for by the bits of a signature."""
    for pick in tap.picks:
        if isinstance(pick, HasAll):
            yield plan.feeds[tap.feed].keys[pick.place].sql, pick.mask


def needs(plan: StreamPlan, tap: Tap) -> Iterator[Need]:
    """The partials of a query, each with the feed it is read from."""
    places = [(each.feed, each.present) for each in tap.sets]
    places += [(final.feed, at) for each in tap.sets for final in each.finals for at in final.partials]
    for feed, at in dict.fromkeys(places):
        yield feed_key(plan.feeds[feed]), plan.feeds[feed].partials[at].text


def first_bound(plan: StreamPlan, there: Held, reach: Reach, latest: Instant) -> Instant:
    """The time after which the windows of a new query start, whose plan this is.

    `latest` is the greatest event time taken in: windows that the watermark had closed by then are history.
    """
    if not plan.taps:
        return latest
    (tap,) = plan.taps
    covered = [_partial_after(there, key, text) for key, text in needs(plan, tap)]
    strand = plan.feeds[tap.feed].strand
    covered += [_edge_after(there.edges, strand, pair) for pair in pairs_of(tap.window)]
    covered += [_mask_after(there.masks, *asked) for asked in masks_of(plan, tap)]
    known = [after for after in covered if after is not None]
    if len(known) < len(covered):
        return latest
    closed = max(latest - plan.stream.statement.delay, reach.upto(tap.window.range))
    return min(latest, max(*known, closed - tap.window.range))


def _partial_after(there: Held, key: FeedKey, text: str) -> Instant | None:
    if there.apart:
        return there.partials.get(key, {}).get(text)
    feed = best_source(there.partials, key, text)
    return None if feed is None else there.partials[feed][text]


def _edge_after(edges: Mapping[tuple[int, Pair], Instant], strand: int, pair: Pair) -> Instant | None:
    known = (after for (at, other), after in edges.items() if at == strand and lies_on(pair, other))
    return min(known, default=None)


def _mask_after(masks: Mapping[str, Mapping[int, Instant]], signature: str, mask: int) -> Instant | None:
    """Rows with these bits are among those with fewer of them."""
    known = masks.get(signature, {})
    return min((after for other, after in known.items() if other & mask == other), default=None)


def best_source(whole: Whole, key: FeedKey, text: str) -> FeedKey | None:
    """The feed that has a partial whole for longest: that of these keys or, only if longer, a finer one.

    Other strands are cut elsewhere.
    """
    mine = [feed for feed in whole if feed[3] == key[3] and text in whole[feed]]
    feeds = [feed for feed in mine if feed == key or is_finer(feed, key)]
    return min(feeds, key=lambda feed: (whole[feed][text], feed != key), default=None)
