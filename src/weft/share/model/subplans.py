"""Parts of a stream's plan: of some of its queries, or with one set of slices, as plans of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.share.nodes import Edges, Partial, StreamPlan, Tap
from weft.share.slicing import cut


def some_taps(plan: StreamPlan, taps: Sequence[Tap], edges: Edges | None = None) -> StreamPlan:
    """The plan of some of the queries: the feeds and partials that they read, and slices of their own.

    What is left of an earlier treatment is not in it: it goes by itself. `edges`: where that is known.
    """
    edges = edges or cut([tap.window for tap in taps])
    kept = {at: sorted(used) for at, used in sorted(_used(plan, taps).items())}
    places = {at: place for place, at in enumerate(kept)}
    feeds = tuple(
        replace(
            plan.feeds[at],
            partials=tuple(plan.feeds[at].partials[each] for each in used),
            parent=places.get(-1 if (parent := plan.feeds[at].parent) is None else parent),
        )
        for at, used in kept.items()
    )
    partials = {at: {each: place for place, each in enumerate(used)} for at, used in kept.items()}
    moved = tuple(_moved(replace(tap, earlier=None), places, partials) for tap in taps)
    return replace(plan, edges=edges, feeds=feeds, taps=moved, standing=(), guards=())


def one_strand(plan: StreamPlan) -> StreamPlan:
    """The same queries with one set of slices: feeds by the same keys are one."""
    if not any(feed.strand for feed in plan.feeds):
        return plan
    names = [(feed.keys, feed.extra, feed.inner) for feed in plan.feeds]
    known = {name: at for at, name in enumerate(dict.fromkeys(names))}
    places = {at: known[name] for at, name in enumerate(names)}
    partials: dict[int, dict[Partial, int]] = {at: {} for at in known.values()}
    for at, feed in enumerate(plan.feeds):
        mine = partials[places[at]]
        for each in feed.partials:
            mine.setdefault(each, len(mine))
    moves = {
        at: {place: partials[places[at]][each] for place, each in enumerate(feed.partials)}
        for at, feed in enumerate(plan.feeds)
    }
    feeds = [plan.feeds[names.index(name)] for name in known]
    made = tuple(
        replace(feed, partials=tuple(partials[at]), parent=_parent(plan, places, at), strand=0, edges=None)
        for at, feed in enumerate(feeds)
    )
    return replace(plan, feeds=made, taps=tuple(_moved(tap, places, moves) for tap in plan.taps))


def _parent(plan: StreamPlan, places: Mapping[int, int], merged: int) -> int | None:
    """What a feed that strands have is combined from: nothing, where one of them is made from rows."""
    found = [feed.parent for at, feed in enumerate(plan.feeds) if places[at] == merged]
    others = [places[parent] for parent in found if parent is not None]
    finer = [each for each in others if each != merged]
    return finer[0] if finer and None not in found else None


def _used(plan: StreamPlan, taps: Sequence[Tap]) -> dict[int, set[int]]:
    """The feeds that the queries read, and the partials of each; a feed that others come from has theirs.

    So do common feeds that several of them come from.
    """
    used: dict[int, set[int]] = {}
    for tap in (each for first in taps for each in first.sets):
        used.setdefault(tap.feed, set()).add(tap.present)
        for final in tap.finals:
            used.setdefault(final.feed, set()).update(final.partials)
    several = Counter(plan.feeds[at].parent for at in used)
    used |= {at: set() for at, feed in enumerate(plan.feeds) if feed.common and several[at] > 1}
    for at, mine in used.items():
        parent = plan.feeds[at].parent
        if parent is not None and parent in used:
            theirs = plan.feeds[parent].partials
            used[parent] |= {theirs.index(plan.feeds[at].partials[each]) for each in mine}
    return used


def _moved(tap: Tap, places: Mapping[int, int], partials: Mapping[int, Mapping[int, int]]) -> Tap:
    """A tap into feeds that have other places, and so do their partials."""
    finals = tuple(
        replace(
            final,
            feed=places[final.feed],
            partials=tuple(partials[final.feed][at] for at in final.partials),
        )
        for final in tap.finals
    )
    return replace(
        tap,
        feed=places[tap.feed],
        present=partials[tap.feed][tap.present],
        finals=finals,
        others=tuple(_moved(other, places, partials) for other in tap.others),
        earlier=None if tap.earlier is None else _moved(tap.earlier, places, partials),
    )
