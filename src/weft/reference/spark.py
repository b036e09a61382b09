"""Fragments of Spark's SQL: a plain batch query on an ordinary session in ANSI mode.

Spark has no `TRY` around any expression: `safe` rewrites one so that it never raises, `failing` says when it
would. Structs order field by field, nulls first, which is just what FIRST, LAST, MIN_BY and MAX_BY ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.lang.statements import Expr
from weft.plan.coercion import decimal_parts, is_decimal, is_integral
from weft.plan.failures import failing, safe
from weft.plan.nodes import Aggregation
from weft.reference.dialect import Types, is_wide_sum

_MAY_OVERFLOW = ("sum", "avg")
_HALF = f"{10**20}BD"


class Spark:
    """Implements Dialect."""

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def micros(self, timestamp: str) -> str:
        return f"UNIX_MICROS({timestamp})"

    def instant(self, micros: str) -> str:
        return f"TIMESTAMP_MICROS({micros})"

    def arrival(self) -> str:
        return "monotonically_increasing_id()"

    def exploded(self, source: str, first: str, last: str, step: int, name: str) -> str:
        first, last = f"CAST({first} AS BIGINT)", f"CAST({last} AS BIGINT)"
        series = f"SEQUENCE({first}, {last}, CAST({step} AS BIGINT))"
        # SEQUENCE refuses to count upwards to what lies below.
        return f"SELECT *, EXPLODE(IF({first} <= {last}, {series}, ARRAY())) AS {name} FROM {source}"

    def checked(self, source: str, carried: str, wanted: Mapping[str, Expr], types: Types) -> str:
        if not wanted:
            return f"SELECT {carried} FROM {source}"
        columns = [*([carried] if carried else [])]
        columns += [f"{safe(expr, types).sql} AS {name}" for name, expr in wanted.items()]
        guards = (failing(expr, types) for expr in wanted.values())
        fails = [f"COALESCE({guard.sql}, FALSE)" for guard in guards if guard is not None]
        where = f" WHERE NOT ({' OR '.join(fails)})" if fails else ""
        return f"SELECT {', '.join(columns)} FROM {source}{where}"

    def aggregated(
        self, call: Aggregation, args: Sequence[str], where: Sequence[str], time: str
    ) -> list[str]:
        if is_wide_sum(call):
            columns = _halves_of_sum(call, args[0], _filter(where))
        else:
            columns = [f"{_aggregate(call, args, list(where), time)} AS _raw{call.name}"]
        if call.function in _MAY_OVERFLOW:
            columns.append(f"COUNT({args[0]}){_filter(where)} AS _count{call.name}")
        return columns

    def finished(self, source: str, carried: str, calls: Sequence[Aggregation]) -> str:
        columns = [carried, *(f"{_finished(call)} AS {call.name}" for call in calls)]
        overflow = [
            f"({_finished(call)} IS NULL AND _count{call.name} > 0)"
            for call in calls
            if call.function in _MAY_OVERFLOW
        ]
        where = f" WHERE NOT ({' OR '.join(overflow)})" if overflow else ""
        return f"SELECT {', '.join(columns)} FROM {source}{where}"


def _aggregate(call: Aggregation, args: Sequence[str], where: list[str], time: str) -> str:
    x = args[0] if args else "*"
    match call.function:
        case "count_star":
            return f"COUNT(*){_filter(where)}"
        case "sum" if is_integral(call.arg_types[0]):
            # A sum of longs may leave 64 bits on the way and come back; one of decimals does not notice.
            return f"SUM(CAST({x} AS DECIMAL(38,0))){_filter(where)}"
        case "sum" | "avg" if is_decimal(call.arg_types[0]):
            return f"TRY_{call.function.upper()}({x}){_filter(where)}"
        case "first" | "last":
            where += [f"{x} IS NOT NULL"] if call.ignore_nulls else []
            return _extreme(x, time, call.function == "last", where)
        case "min_by" | "max_by":
            return _extreme(x, args[1], call.function == "max_by", [*where, f"{args[1]} IS NOT NULL"])
        case "count_distinct" | "approx_count_distinct":
            return f"COUNT(DISTINCT {', '.join(args)}){_filter(where)}"
        case "approx_percentile":
            return _percentile(call, x, _filter(where))
        case _:
            return f"{call.function.upper()}({x}){_filter(where)}"


def _filter(where: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(where)})" if where else ""


def _extreme(x: str, by: str, greatest: bool, where: Sequence[str]) -> str:
    """The value at the least (greatest) `by`; of several the least (greatest), null the least of all."""
    function = "MAX" if greatest else "MIN"
    return f"({function}(NAMED_STRUCT('b', {by}, 'x', {x})){_filter(where)}).x"


def _percentile(call: Aggregation, x: str, where: str) -> str:
    """The exact one: the value at rank ceil(p * n), at least 1."""
    ordered, count = f"SORT_ARRAY(COLLECT_LIST({x}){where})", f"COUNT({x}){where}"

    def at(share: float) -> str:
        return f"GET({ordered}, CAST(GREATEST(1, CEIL(CAST({share!r} AS DOUBLE) * {count})) AS INT) - 1)"

    share = call.params[0]
    if not isinstance(share, tuple):
        return at(share)
    return f"IF({count} > 0, ARRAY({', '.join(at(one) for one in share)}), NULL)"


def _halves_of_sum(call: Aggregation, x: str, where: str) -> list[str]:
    """The digits above and below `_HALF`, summed apart: TRY_SUM stays null once it has overflowed."""
    digits = f"CAST(REPLACE(CAST({x} AS STRING), '.', '') AS DECIMAL(38,0))"
    high = f"SUM(CAST({digits} DIV {_HALF} AS DECIMAL(20,0))){where}"
    return [f"{high} AS _raw{call.name}", f"SUM({digits} % {_HALF}){where} AS _low{call.name}"]


def _wide_sum(call: Aggregation) -> str:
    """The halves together; null where that has more than 38 digits."""
    high = f"TRY_MULTIPLY(TRY_CAST(_raw{call.name} AS DECIMAL(20,0)), {_HALF})"
    digits = f"TRY_ADD({high}, CAST(_low{call.name} AS DECIMAL(38,0)))"
    type_ = call.type or ""
    return f"CAST(CONCAT(CAST({digits} AS STRING), 'E-{decimal_parts(type_)[1]}') AS {type_})"


def _finished(call: Aggregation) -> str:
    if is_wide_sum(call):
        return _wide_sum(call)
    raw = f"_raw{call.name}"
    return f"TRY_CAST({raw} AS BIGINT)" if call.function == "sum" and is_integral(call.arg_types[0]) else raw
