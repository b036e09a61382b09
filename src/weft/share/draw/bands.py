"""What is drawn of a stream: its feeds, and below each the queries with the same window as one band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.lang.statements import WindowSpec
from weft.share.model.cost import Cost
from weft.share.nodes import Feed, StreamPlan, Tap
from weft.share.show import show_readers, show_window

MOST = 60  # bands: of more, those that cost least become one


@dataclass(frozen=True, slots=True)
class Band:
    """Queries with one window of one feed; without a window, what else is drawn there."""

    label: str
    window: WindowSpec | None
    names: tuple[str, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class Strip:
    """A feed and its bands, one below the other."""

    at: int
    feed: Feed
    bands: tuple[Band, ...]
    readers: str

    @property
    def cost(self) -> float:
        return sum(band.cost for band in self.bands)


def strips(plan: StreamPlan, cost: Cost) -> list[Strip]:
    """The feeds, each root before those that are combined from it."""
    order = [at for root in plan.roots for at in (root, *plan.derived(root))]
    dearest = sorted((band.cost for at in order for band in _bands(plan, at, cost)), reverse=True)
    least = dearest[MOST - 1] if len(dearest) > MOST else 0.0
    return [_strip(plan, at, cost, least) for at in order]


def standing(plan: StreamPlan, cost: Cost) -> Band | None:
    """All standing filters as one band; None if there are none."""
    names = tuple(each.query.name for each in plan.standing)
    return Band(_label("each row", names), None, names, sum(map(cost.of, names))) if names else None


def _strip(plan: StreamPlan, at: int, cost: Cost, least: float) -> Strip:
    found = _bands(plan, at, cost)
    kept = [band for band in found if band.cost >= least]
    names = tuple(name for band in found if band.cost < least for name in band.names)
    if names:
        rest = sum(band.cost for band in found if band.cost < least)
        kept.append(Band(_label("other windows", names), None, names, rest))
    return Strip(at, plan.feeds[at], tuple(kept), show_readers(plan, at))


def _bands(plan: StreamPlan, at: int, cost: Cost) -> list[Band]:
    alike: dict[WindowSpec, list[Tap]] = {}
    for tap in plan.taps:
        if at in _stands_at(tap):
            alike.setdefault(tap.window, []).append(tap)
    order = sorted(alike, key=lambda window: (window.range, window.slide, window.offset))
    return [_band(window, alike[window], cost) for window in order]


def _band(window: WindowSpec, taps: Sequence[Tap], cost: Cost) -> Band:
    """What a query with several grouping sets costs is split evenly among the bands that it is in."""
    names = tuple(tap.query.name for tap in taps)
    part = sum(cost.of(tap.query.name) / len(_stands_at(tap)) for tap in taps)
    return Band(_label(show_window(window), names), window, names, part)


def _stands_at(tap: Tap) -> set[int]:
    """The feeds below which a query is drawn: those of its grouping sets."""
    return {each.feed for each in tap.sets}


def _label(what: str, names: tuple[str, ...]) -> str:
    return f"{what}: {names[0] if len(names) == 1 else f'{len(names)} queries'}"
