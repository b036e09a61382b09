"""Where relations would lie on executors, as text: in buckets by which columns, or in the driver and why."""

from __future__ import annotations

from collections.abc import Sequence

from weft.share.nodes import SharedPlan
from weft.share.relations.bucketing import Spread, bucketing_of
from weft.share.table import table


def show_bucket(plan: SharedPlan, name: str) -> str:
    """Where one query would lie."""
    found = bucketing_of(plan)
    own = (f"in buckets by {_keys(spread)}" for spread in found.spreads if name in spread.queries)
    return next(own, None) or f"in the driver, for {dict(found.stay)[name]}"


def show_buckets(plan: SharedPlan) -> list[str]:
    """Which queries lie in buckets, by what, and why others cannot."""
    found = bucketing_of(plan)
    rows = [(f"buckets by {_keys(spread)}", shortened(spread.queries)) for spread in found.spreads]
    stay: dict[str, list[str]] = {}
    for name, why in found.stay:
        stay.setdefault(why, []).append(name)
    return [
        *table(rows, indent=4),
        *(f"    driver for {shortened(names)}: {why}" for why, names in stay.items()),
    ]


def shortened(queries: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(queries) - 4} more" if len(queries) > 4 else ""
    return ", ".join(queries[:4]) + more


def _keys(spread: Spread) -> str:
    """`k of a; id of b`: what says in which bucket a row of each stream lies."""
    return "; ".join(f"{', '.join(keys)} of {stream}" for stream, keys in spread.by)
