"""DATEADD and DATEDIFF with a unit of time: which units there are, and when such calls fail.

They are of Spark's grammar, not on its list of functions: the unit is a word, not a value.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from weft.errors import Place, QueryError, nearest
from weft.plan.coercion import Type, is_integral
from weft.plan.functions import ADDING, Call
from weft.plan.guarded import Guarded, Tree, call, in_order, is_null, number

Guard = Callable[[Tree], Guarded]
TypeOf = Callable[[Tree], Type | None]

# Of which argument of MAKE_INTERVAL how many; of smaller units no INT reaches the ends of the calendar.
_LONG = {
    "YEAR": (0, 1), "QUARTER": (1, 3), "MONTH": (1, 1), "WEEK": (2, 1), "DAY": (3, 1), "DAYOFYEAR": (3, 1),
    "HOUR": (4, 1),
}  # fmt: skip
UNITS = (*_LONG, "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def unit_problem(call: Call, at: Place | None) -> QueryError | None:
    """What is wrong with the unit of such a call."""
    unit = call.args[0]
    if isinstance(unit, exp.Var) and unit.name.upper() in UNITS:
        return None
    if isinstance(unit, exp.Literal) and unit.name.upper() in UNITS:
        help = f"write the unit without quotes: {unit.name.upper()}"
        return QueryError("bad-unit", f"'{unit.name}' is a text", at=at, help=help)
    return QueryError(
        "bad-unit", f"`{unit.name}` is no unit of time", at=at, because=nearest(unit.name, UNITS),
        help=f"units are {', '.join(UNITS)}",
    )  # fmt: skip


def raising_unit_call(tree: exp.Anonymous, made: Call, guard: Guard, type_of: TypeOf) -> Guarded:
    """The call guarded: texts that are no times, and times past the end of the calendar."""
    unit, first, second = made.args
    if made.name != ADDING:
        times = [_time(guard(each), type_of(each)) for each in (first, second)]
        return Guarded(call(tree.name, unit, *(each.value for each in times)), in_order(times, None))
    count, time = guard(first), _time(guard(second), type_of(second))
    value = call(tree.name, unit, count.value, time.value)
    long = _LONG.get(unit.name.upper())
    if long is None or _is_few(first) or not is_integral(type_of(first)):
        return Guarded(value, in_order([count, time], None))
    arguments: list[Tree] = [number(0)] * 5
    arguments[long[0]] = call("TRY_MULTIPLY", count.value, number(long[1])) if long[1] > 1 else count.value
    start = exp.cast(time.value.copy(), "timestamp")
    past = is_null(call("TRY_ADD", start, call("TRY_MAKE_INTERVAL", *arguments)))
    return Guarded(exp.If(this=past, true=exp.Null(), false=value), in_order([count, time], past.copy()))


def _time(inner: Guarded, type_: Type | None) -> Guarded:
    """What Spark makes a timestamp of by itself."""
    if type_ != "string":
        return inner
    value = exp.TryCast(this=inner.value.copy(), to=exp.DataType.build("timestamp"), safe=True)
    return Guarded(value, in_order([inner], is_null(value)))


def _is_few(count: Tree) -> bool:
    """So few that only times near the ends of the calendar go past it, as with intervals."""
    literal = count.this if isinstance(count, exp.Neg) else count
    return isinstance(literal, exp.Literal) and not literal.is_string and float(literal.name) <= 10_000
