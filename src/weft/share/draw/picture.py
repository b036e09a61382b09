"""The picture: on the left rows go into feeds, on the right each band shows how far back its windows reach.

rows ─┬─ feed ── 10 s: 3 queries           │            ▐▀▀▀▀│ now       darker: it costs more
      │       ── 5 min every 10 s: vwap    │   ▐▀▀▀▀▀▀▀▀▀▀▀▀▀│           ticks: windows start or end
      └─ feed ─── feed combined from it    │ ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.share.draw.bands import Band, Strip, standing, strips
from weft.share.draw.chains import draw_relations
from weft.share.draw.svg import BLUE, DARK, box, document, ribbon, text, tick
from weft.share.draw.timeline import edges_of, shared_edges, timeline
from weft.share.model.cost import Cost
from weft.share.model.figures import cpu, plain
from weft.share.model.forecast import Basis, cost_of
from weft.share.model.show import show_load
from weft.share.nodes import SharedPlan, StreamPlan
from weft.share.relations.program import without_relations
from weft.share.show import show_keys, sketches_of
from weft.share.weave.rates import rate_of
from weft.times import show_duration

ROW, GAP, TOP = 20.0, 12.0, 76.0
ROWS_X, ROOT_X, DERIVED_X, BAND_X, TIME_X, NOW_X, COST_X = 12.0, 110.0, 330.0, 550.0, 800.0, 1190.0, 1200.0
ROWS_WIDTH, FEED_WIDTH, WIDTH = 60.0, 180.0, 1280.0
THICKEST = 16.0  # ribbon
DARKEST = 0.35  # of a box that has text in it
EMPTY = "no queries"
LEGEND = (
    "bars: how far back windows reach; ticks: where one starts or ends; darker and thicker: it costs more"
)


def draw(plan: SharedPlan, basis: Basis) -> str:
    """The shared plan of all streams, one below the other, and below them the chains of joins."""
    shapes, y = [], 0.0
    for stream in without_relations(plan).streams:
        picture = _Picture(stream, cost_of(stream, basis), y)
        load = show_load(basis.loads.of(stream.stream.name), basis.constants)
        shapes += [*picture.heading(load), *picture.shapes()]
        y = picture.bottom + 2 * GAP
    if plan.related:
        drawn, y = draw_relations(plan, y)
        shapes += drawn
    return document(WIDTH, max(y, ROW), shapes or [text(ROWS_X, ROW - 5, EMPTY)])


@dataclass(frozen=True, slots=True)
class _Placed:
    """A feed with its place."""

    strip: Strip
    x: float
    top: float
    height: float

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


class _Picture:
    """One stream, drawn from `y` down."""

    def __init__(self, plan: StreamPlan, cost: Cost, y: float) -> None:
        self._plan, self._cost, self._y = plan, cost, y
        self._time = timeline((tap.window for tap in plan.taps), TIME_X, NOW_X)
        self._feeds = _placed(strips(plan, cost), y + TOP)
        self._filters = standing(plan, cost)
        ends = [feed.top + feed.height for feed in self._feeds]
        self._filters_top = max(ends, default=y + TOP - GAP) + GAP
        last = self._filters_top + ROW if self._filters else max(ends, default=y + TOP)
        self.bottom = last + 2 * ROW
        bands = [band.cost for feed in self._feeds for band in feed.strip.bands]
        self._dearest = max([*bands, self._filters.cost if self._filters else 0.0], default=0.0) or 1.0

    def heading(self, load: str) -> Iterator[str]:
        queries = len(self._plan.taps) + len(self._plan.standing)
        title = f"{self._plan.stream.name}: {_many(queries, 'query', 'queries')}, "
        title += f"{cpu(self._cost.total)} CPU time for each second of stream"
        yield text(ROWS_X, self._y + 18, title, bold=True)
        yield text(ROWS_X, self._y + 36, load)

    def shapes(self) -> Iterator[str]:
        yield from self._ribbons()
        if self._plan.taps:
            yield from self._axis()
        yield box(ROWS_X, self._y + TOP, ROWS_WIDTH, self.bottom - self._y - TOP - 2 * ROW)
        yield text(ROWS_X + ROWS_WIDTH / 2, self._y + TOP + 16, "rows", anchor="middle")
        for feed in self._feeds:
            yield from self._feed(feed)
        if self._filters is not None:
            yield from self._band(self._filters, self._filters_top)
        yield text(ROWS_X, self.bottom - 6, LEGEND)

    def _axis(self) -> Iterator[str]:
        """Where the time line is cut for all, and how long ago that is."""
        top, time = self._y + TOP, self._time
        yield text(BAND_X, top - 14, self._slices(), room=TIME_X - BAND_X - GAP)
        for x in time.ticks(shared_edges(self._plan.edges), time.most):
            yield tick(x, top - 24, top - 12)
        for age, x in time.marks(apart=52.0):
            yield text(x, top - 30, show_duration(age), anchor="middle")
            yield tick(x, top - 12, self.bottom - 2 * ROW)
        yield text(NOW_X, top - 30, "now", anchor="middle")
        yield tick(NOW_X, top - 24, self.bottom - 2 * ROW, BLUE)

    def _slices(self) -> str:
        edges = self._plan.edges
        every = f"every {show_duration(edges.grain)}" if edges.grain else f"{len(edges.pairs)} phases"
        return f"slices {every}, {plain(rate_of(edges).value)} a second"

    def _ribbons(self) -> Iterator[str]:
        """From rows to feeds, from feeds to those combined from them and to their bands."""
        places = {feed.strip.at: feed for feed in self._feeds}
        weights = _weights(self._feeds)
        for feed in self._feeds:
            parent = places.get(-1 if feed.strip.feed.parent is None else feed.strip.feed.parent)
            x, y = (
                (ROWS_X + ROWS_WIDTH, feed.middle)
                if parent is None
                else (parent.x + FEED_WIDTH, parent.middle)
            )
            yield ribbon(x, y, feed.x, feed.middle, self._thick(weights[feed.strip.at]))
            for at, band in enumerate(feed.strip.bands):
                to = feed.top + ROW * at + ROW / 2
                yield ribbon(feed.x + FEED_WIDTH, to, BAND_X - 4, to, self._thick(band.cost))
        if self._filters is not None:
            y = self._filters_top + ROW / 2
            yield ribbon(ROWS_X + ROWS_WIDTH, y, BAND_X - 4, y, self._thick(self._filters.cost))

    def _thick(self, cost: float) -> float:
        return max(1.0, THICKEST * cost / (self._cost.total or 1.0))

    def _feed(self, feed: _Placed) -> Iterator[str]:
        strip, room = feed.strip, FEED_WIDTH - 20
        keys = f"by {show_keys(strip.feed, sketches_of(self._plan))}" if strip.feed.keys else "one group"
        yield box(feed.x, feed.top, FEED_WIDTH, feed.height, DARKEST * strip.cost / (self._cost.total or 1.0))
        strand = "" if strip.feed.edges is None else f", strand {strip.feed.strand},"
        yield text(feed.x + 8, feed.top + 15, f"f{strip.at}{strand} {keys}", room=room)
        held = f"{_many(len(strip.feed.partials), 'partial', 'partials')}, "
        yield text(feed.x + 8, feed.top + 32, held + strip.readers, room=room)
        for at, band in enumerate(strip.bands):
            yield from self._band(band, feed.top + ROW * at)

    def _band(self, band: Band, top: float) -> Iterator[str]:
        yield text(BAND_X, top + 14, band.label, room=TIME_X - BAND_X - GAP)
        yield text(COST_X, top + 14, cpu(band.cost))
        if band.window is not None:
            x = self._time.x(band.window.range)
            yield box(x, top + 3, NOW_X - x, ROW - 6, band.cost / self._dearest)
            for at in self._time.ticks(edges_of(band.window), band.window.range):
                yield tick(at, top + 3, top + ROW - 3, DARK)


def _placed(found: Sequence[Strip], top: float) -> list[_Placed]:
    """The feeds one below the other, each as high as its bands; derived ones further to the right."""
    placed = []
    for strip in found:
        height = max(ROW * len(strip.bands), 2 * ROW)
        placed.append(_Placed(strip, ROOT_X if strip.feed.parent is None else DERIVED_X, top, height))
        top += height + GAP
    return placed


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _weights(feeds: Sequence[_Placed]) -> Mapping[int, float]:
    """What comes out of each feed, by way of others as well."""
    weights = {feed.strip.at: feed.strip.cost for feed in feeds}
    for feed in feeds:
        if feed.strip.feed.parent is not None:
            weights[feed.strip.feed.parent] += feed.strip.cost
    return weights
