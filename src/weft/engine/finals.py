"""The aggregates of a query's due windows, as columns `_a0, _a1, ...` beside its groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.ingest import FeedKey, feed_key, spec
from weft.engine.windows import Windows
from weft.kernels.arrow import arrow_type
from weft.kernels.distinct import approx_count_distinct, count_distinct, owners, percentiles
from weft.kernels.finals import finish
from weft.kernels.sketches import precision_for
from weft.kernels.state import Answered, FeedState
from weft.share.nodes import Final, StreamPlan, Tap
from weft.share.partials import deviation, shares

Mask = npt.NDArray[np.bool_]


def aggregate_columns(
    plan: StreamPlan,
    tap: Tap,
    feeds: Mapping[FeedKey, FeedState],
    windows: Windows,
    answered: Answered,
) -> tuple[dict[str, pa.Array], Mask | None]:
    """The aggregates for the rows of `answered`, and where one of them has no value that fits its type."""
    columns: dict[str, pa.Array] = {}
    failed: Mask | None = None
    for final in tap.finals:
        if final.feed == tap.feed:
            columns[final.name], wrong = _from_own_feed(plan, final, answered)
        else:
            columns[final.name], wrong = _from_extra_feed(plan, tap, final, feeds, windows, answered), None
        if wrong is not None:
            failed = wrong if failed is None else failed | wrong
    return columns, failed


def _from_own_feed(plan: StreamPlan, final: Final, answered: Answered) -> tuple[pa.Array, Mask | None]:
    partials = [plan.feeds[final.feed].partials[at] for at in final.partials]
    values = [answered.values[spec(partial)] for partial in partials]
    return finish(final.function, partials[0].type, final.type, values)


def _from_extra_feed(
    plan: StreamPlan,
    tap: Tap,
    final: Final,
    feeds: Mapping[FeedKey, FeedState],
    windows: Windows,
    answered: Answered,
) -> pa.Array:
    """An aggregate of the set or distribution of values, out of a feed that has them as one more key."""
    own, extra = feeds[feed_key(plan.feeds[tap.feed])], feeds[feed_key(plan.feeds[final.feed])]
    specs = [spec(plan.feeds[final.feed].partials[at]) for at in final.partials]
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
