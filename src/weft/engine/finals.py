"""The aggregates of a query's due windows, as columns `_a0, _a1, ...` beside its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.ingest import FeedKey, feed_key, spec
from weft.engine.windows import Windows
from weft.kernels.arrow import arrow_type
from weft.kernels.columns import ColumnSpec
from weft.kernels.distinct import approx_count_distinct, count_distinct, owners, percentiles
from weft.kernels.finals import finish
from weft.kernels.picks import Choice
from weft.kernels.sketches import precision_for
from weft.kernels.state import Answered, FeedState
from weft.share.nodes import Final, StreamPlan, Tap
from weft.share.partials import deviation, shares

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tap reads of the feeds, as the kernels know it: looked up once for a plan."""

    feed: FeedKey
    present: ColumnSpec
    wanted: tuple[ColumnSpec, ...]  # of its own feed
    finals: tuple[tuple[Final, FeedKey, tuple[ColumnSpec, ...]], ...]  # each with its feed and partials
    choice: Choice | None  # of groups


def reading(plan: StreamPlan, tap: Tap) -> Reading:
    """What a tap reads."""
    feed = plan.feeds[tap.feed]
    own = {at for final in tap.finals if final.feed == tap.feed for at in final.partials}
    finals = (
        (final, plan.feeds[final.feed], [plan.feeds[final.feed].partials[at] for at in final.partials])
        for final in tap.finals
    )
    return Reading(
        feed_key(feed),
        spec(feed.partials[tap.present]),
        tuple(spec(feed.partials[at]) for at in sorted(own)),
        tuple((final, feed_key(its), tuple(map(spec, partials))) for final, its, partials in finals),
        tap.choice,
    )


def aggregate_columns(
    read: Reading, feeds: Mapping[FeedKey, FeedState], windows: Windows, answered: Answered
) -> tuple[dict[str, pa.Array], Mask | None]:
    """The aggregates for the rows of `answered`, and where one of them has no value that fits its type."""
    columns: dict[str, pa.Array] = {}
    failed: Mask | None = None
    for final, feed, specs in read.finals:
        if feed == read.feed:
            values = [answered.values[each] for each in specs]
            columns[final.name], wrong = finish(final.function, specs[0].type, final.type, values)
        else:
            own, extra = feeds[read.feed], feeds[feed]
            columns[final.name], wrong = _from_extra_feed(final, specs, own, extra, windows, answered), None
        if wrong is not None:
            failed = wrong if failed is None else failed | wrong
    return columns, failed


def _from_extra_feed(
    final: Final,
    specs: Sequence[ColumnSpec],
    own: FeedState,
    extra: FeedState,
    windows: Windows,
    answered: Answered,
) -> pa.Array:
    """An aggregate of the set or distribution of values, out of a feed that has them as one more key."""
    counted = extra.answer(windows.starts, windows.ends, specs[0], specs)
    owner, rows = owners(answered, own, counted, extra), len(answered.window)
    if final.function == "count_distinct":
        return pa.array(count_distinct(owner, rows))
    if final.function == "approx_count_distinct":
        (rho,) = counted.values[specs[1]]
        return pa.array(approx_count_distinct(owner, rho, rows, precision_for(deviation(final.params))))
    (counts,) = counted.values[specs[0]]
    made = percentiles(owner, extra.keys(counted.group)[-1], counts, rows, shares(final.params))
    return made if final.type is None else made.cast(arrow_type(final.type))
