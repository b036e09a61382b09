"""The aggregates of a query's due windows, as columns `_a0, _a1, ...` beside its groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.ingest import FeedKey, feed_key, spec
from weft.engine.windows import Windows
from weft.kernels.finals import finish
from weft.kernels.state import Answered, FeedState
from weft.share.nodes import Final, StreamPlan, Tap

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
