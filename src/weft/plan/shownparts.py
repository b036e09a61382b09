"""Parts of plan nodes as text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from weft.lang.statements import Expr, OrderKey
from weft.plan.nodes import Aggregation, Named
from weft.times import Duration, show_duration

WIDE = 100  # a longer node is spread over lines, one part each


def show_aggregation(made: Aggregation) -> str:
    """`sum(price * qty) where side = 'BUY'`."""
    args = ", ".join(arg.sql for arg in made.args)
    params = "".join(f", {param}" for param in made.params)
    nulls = " ignore nulls" if made.ignore_nulls else ""
    where = f" where {made.filter.sql}" if made.filter is not None else ""
    calls = {"count_star": "count(*)", "count_distinct": f"count(distinct {args})"}
    return calls.get(made.function, f"{made.function}({args}{params})") + nulls + where


def show_named(named: Named) -> str:
    """`n = _a0`, or the name alone where it says all."""
    return named.name if named.name == named.expr.sql else f"{named.name} = {named.expr.sql}"


def show_order_key(key: OrderKey) -> str:
    """`price desc nulls first`."""
    direction = " desc" if key.descending else ""
    usual = key.nulls_first is not key.descending
    nulls = "" if usual else f" nulls {'first' if key.nulls_first else 'last'}"
    return f"{key.expr.sql}{direction}{nulls}"


def show_for(range_: Duration | None) -> str:
    """`for 5 min`, or `for ever`."""
    return "for ever" if range_ is None else f"for {show_duration(range_)}"


def show_clause(word: str, condition: Expr | None) -> str:
    """` where qty > 100`; nothing where there is no condition."""
    return "" if condition is None else f" {word} {condition.sql}"


def reworded(text: str, words: Mapping[str, str]) -> str:
    """A text with words for the names that have some."""
    if not words:
        return text
    names = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda found: words[found[0]], text)
