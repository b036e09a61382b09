"""Keys of feeds as Spark evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.share.intervals import is_interval


@lru_cache(maxsize=256)
def key_sql(key: Expr) -> str:
    """The key as Spark's SQL; for the number of an interval a row is compared with a few of the cuts only.

    Each cut that holds implies those below it, so half of them are decided by one comparison.
    """
    if not is_interval(key.sql):
        return key.sql
    conditions = key.tree.expressions
    column = expr(conditions[0].this).sql
    return f"IF({column} IS NULL, NULL, {_halved([expr(each).sql for each in conditions], 0)})"


def _halved(cuts: Sequence[str], below: int) -> str:
    """How many of the cuts hold, and as many as are `below` them."""
    if not cuts:
        return str(below)
    middle = len(cuts) // 2
    above = _halved(cuts[middle + 1 :], below + middle + 1)
    return f"IF({cuts[middle]}, {above}, {_halved(cuts[:middle], below)})"
