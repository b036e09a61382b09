"""What queries pick, and the keys they pick by, as text."""

from __future__ import annotations

from sqlglot import exp

from weft.kernels.picks import HasAll, OneOf, Pick, Within
from weft.lang.dialect import Weft
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.share.intervals import is_interval
from weft.share.signatures import is_signature

_OPPOSITE = {exp.GT: exp.LTE, exp.GTE: exp.LT}


def show_pick(pick: Pick, key: Expr) -> str:
    """`customer = 'a'`, `price > 10: intervals 3 to 17 of 21`, `qty > 5 AND price > 10: 2 bits of 6`."""
    match pick:
        case OneOf(values=values):
            shown = [exp.convert(value).sql(dialect=Weft) for value in values]
            return f"{key.sql} = {shown[0]}" if len(shown) == 1 else f"{key.sql} IN ({', '.join(shown)})"
        case Within(first=first, last=last):
            return f"{_show_range(pick, key)}: {_show_intervals(first + 1, last + 1)} of {_count(key) + 1}"
        case HasAll(mask=mask):
            asked = [one for bit, one in enumerate(key.tree.expressions) if mask >> bit & 1]
            said = " AND ".join(expr(one).sql for one in asked if not is_guard(one))
            return f"{said}: {_show_bits(len(asked))} of {_count(key)}"


def is_guard(tree: exp.Expr) -> bool:
    """Is it a condition that keeps failing rows out, which no author wrote?"""
    inner = tree.this if isinstance(tree, exp.Not) else None
    return isinstance(inner, exp.Coalesce) and inner.expressions == [exp.false()]


def show_key(key: Expr) -> str:
    """A key of a feed; an interval by its column and how often that is cut, a signature by its bits."""
    if is_signature(key.sql):
        return f"signature ({_show_bits(_count(key))})"
    if not is_interval(key.sql):
        return key.sql
    return f"interval of {expr(key.tree.expressions[0].this).sql} ({_count(key)} cuts)"


def _show_bits(count: int) -> str:
    return "1 bit" if count == 1 else f"{count} bits"


def _count(key: Expr) -> int:
    return len(key.tree.expressions)


def _show_range(pick: Within, key: Expr) -> str:
    cuts, shown = key.tree.expressions, []
    if pick.first > 0:
        shown.append(expr(cuts[pick.first - 1]).sql)
    if pick.last < len(cuts):
        cut = cuts[pick.last]
        below = _OPPOSITE[type(cut)](this=cut.this.copy(), expression=cut.expression.copy())
        shown.append(expr(below).sql)
    return " AND ".join(shown)


def _show_intervals(first: int, last: int) -> str:
    if first > last:
        return "no interval"
    return f"interval {first}" if first == last else f"intervals {first} to {last}"
