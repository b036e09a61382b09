"""The shared plan as plain values, for JSON: the same facts as the text."""

from __future__ import annotations

from typing import Any

from weft.share.model.readers import aggregated, readers
from weft.share.nodes import SharedPlan, StreamPlan, Tap
from weft.share.same import same_as
from weft.share.show import shared, show_picks, show_sets, slices_of
from weft.share.slicing import least_overlap, overlap
from weft.share.weave.rates import rate_of
from weft.times import BEGINNING


def describe(plan: SharedPlan) -> dict[str, Any]:
    """The shared plan, feeds and queries by name, times in microseconds."""
    saving = plan.saving
    return {
        "streams": [_stream(stream) for stream in plan.streams],
        "saving": {
            "queries": saving.queries,
            "partials": {"apart": saving.partials_apart, "shared": saving.partials_shared},
            "row_updates": {"apart": saving.row_updates_apart, "shared": saving.row_updates_shared},
        },
    }


def describe_shares(plan: SharedPlan, name: str) -> list[dict[str, Any]]:
    """What is made of rows for one query, and for which others as well."""
    taps = ((stream, tap) for stream in plan.streams for tap in stream.taps if tap.query.name == name)
    return [
        {"feed": f"f{at}", "partial": partial.text, "with": others}
        for stream, tap in taps
        for at, partial, others in shared(stream, tap)
    ]


def _stream(plan: StreamPlan) -> dict[str, Any]:
    edges, rate, same = plan.edges, rate_of(plan.edges), same_as(plan)
    return {
        "stream": plan.stream.name,
        "edges": {
            "grain_us": edges.grain,
            "combined": edges.combined,
            "pairs_us": [list(pair) for pair in edges.pairs],
            "per_second": rate.value,
            "exact": rate.exact,
            "reason": edges.reason,
        },
        "feeds": [_feed(plan, at) for at in range(len(plan.feeds))],
        "readers": [
            {"feed": f"f{at}", "partial": partial.text, "queries": list(names)}
            for (at, partial), names in readers(plan).partials.items()
            if plan.feeds[at].parent is None
        ],
        "queries": [_query(plan, tap) | {"same_as": same.get(tap.query.name)} for tap in plan.taps],
        "standing": [
            {"query": filter_.query.name, "where": None if filter_.where is None else filter_.where.sql}
            for filter_ in plan.standing
        ],
    }


def _feed(plan: StreamPlan, at: int) -> dict[str, Any]:
    feed = plan.feeds[at]
    return {
        "feed": f"f{at}",
        "keys": [key.sql for key in feed.keys],
        "extra_key": feed.extra,
        "combined_from": None if feed.parent is None else f"f{feed.parent}",
        "made_for": [f"f{each}" for each in plan.derived(at)] if feed.common else [],
        "strand": feed.strand,
        "partials": [partial.text for partial in feed.partials],
    }


def _query(plan: StreamPlan, tap: Tap) -> dict[str, Any]:
    window = tap.window
    return {
        "query": tap.query.name,
        "window": {"range_us": window.range, "slide_us": window.slide, "offset_us": window.offset},
        "windows_per_row": {"least": least_overlap(window), "most": overlap(window)},
        "slices_per_window": slices_of(plan, tap),
        "feed": f"f{tap.feed}",
        "sets": [{"keys": keys, "feed": f"f{at}"} for keys, at in show_sets(tap)],
        "picks": show_picks(plan, tap),
        "switched": _switched(plan, tap),
        "partials": sorted({partial.text for _, partial in aggregated(plan, tap)}),
        "finals": [
            {"aggregate": final.name, "function": final.function, "method": final.method}
            for final in tap.finals
        ],
    }


def _switched(plan: StreamPlan, tap: Tap) -> dict[str, Any] | None:
    """Since when it is treated so, and what answers the windows from before; None: from the beginning."""
    if tap.after == BEGINNING:
        return None
    half = tap.earlier
    earlier = None if half is None else {"feed": f"f{half.feed}", "picks": show_picks(plan, half)}
    return {"after_us": tap.after, "earlier": earlier}
