"""Where relations would lie on executors, as text: in buckets by which columns, or in the driver and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.share.nodes import SharedPlan
from weft.share.relations.bucketing import Spread, bucketing_of
from weft.share.table import table


def show_bucket(plan: SharedPlan, name: str, stay: Mapping[str, str]) -> str:
    """Where one query would lie; `stay`: some cannot leave the driver, and why."""
    found = bucketing_of(plan, stay)
    own = (f"in buckets by {_keys(spread)}" for spread in found.spreads if name in spread.queries)
    return next(own, None) or f"in the driver, for {dict(found.stay)[name]}"


def show_buckets(plan: SharedPlan, stay: Mapping[str, str]) -> list[str]:
    """Which queries lie in buckets, by what, and why others cannot."""
    found = bucketing_of(plan, stay)
    rows = [(f"buckets by {_keys(spread)}", shortened(spread.queries)) for spread in found.spreads]
    staying: dict[str, list[str]] = {}
    for name, why in found.stay:
        staying.setdefault(why, []).append(name)
    return [
        *table(rows, indent=4),
        *(f"    driver for {shortened(names)}: {why}" for why, names in staying.items()),
    ]


def shortened(queries: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(queries) - 4} more" if len(queries) > 4 else ""
    return ", ".join(queries[:4]) + more


def _keys(spread: Spread) -> str:
    """`k of a; id of b`: what says in which bucket a row of each stream lies."""
    return "; ".join(f"{', '.join(keys)} of {stream}" for stream, keys in spread.by)
