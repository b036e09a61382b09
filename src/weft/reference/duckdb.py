"""Fragments of DuckDB's SQL with Spark's meaning.

DuckDB has `TRY(expression)`, null where the expression fails, row by row. A struct that holds the expression
is never null by itself, so `TRY({'x': ...}) IS NULL` tells exactly the rows on which it fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.lang.statements import Expr
from weft.plan.coercion import decimal_parts, is_decimal, is_integral
from weft.plan.nodes import Aggregation
from weft.reference.dialect import Types, is_wide_sum
from weft.reference.translate import duckdb_expression, duckdb_type, rounded_quotient, scaled, unscaled

_TRIED = "_weft_tried"
_HALF = f"{10**19}::HUGEINT"


class DuckDB:
    """Implements Dialect."""

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def micros(self, timestamp: str) -> str:
        return f"EPOCH_US({timestamp})"

    def instant(self, micros: str) -> str:
        return f"MAKE_TIMESTAMP({micros})"

    def arrival(self) -> str:
        return "rowid"

    def exploded(self, source: str, first: str, last: str, step: int, name: str) -> str:
        series = f"GENERATE_SERIES(CAST({first} AS BIGINT), CAST({last} AS BIGINT), {step})"
        return f"SELECT *, UNNEST({series}) AS {name} FROM {source}"

    def checked(self, source: str, carried: str, wanted: Mapping[str, Expr], types: Types) -> str:
        return _tried(
            source, carried, {name: duckdb_expression(expr, types) for name, expr in wanted.items()}
        )

    def aggregated(
        self, call: Aggregation, args: Sequence[str], where: Sequence[str], time: str
    ) -> list[str]:
        if is_wide_sum(call):
            high, low = _halves_of_sum(args[0], _filter(where))
            return [f"{high} AS _raw{call.name}", f"{low} AS _low{call.name}"]
        return [f"{_aggregate(call, args, list(where), time)} AS _raw{call.name}"]

    def finished(self, source: str, carried: str, calls: Sequence[Aggregation]) -> str:
        return _tried(source, carried, {call.name: _finished(call) for call in calls})


def _tried(source: str, carried: str, wanted: Mapping[str, str]) -> str:
    if not wanted:
        return f"SELECT {carried} FROM {source}"
    fields = ", ".join(f"'{name}': {sql}" for name, sql in wanted.items())
    carried = {"*": f"* EXCLUDE ({_TRIED}), ", "": ""}.get(carried, f"{carried}, ")
    tried = f"SELECT *, TRY({{{fields}}}) AS {_TRIED} FROM {source}"
    return f"SELECT {carried}{_TRIED}.* FROM ({tried}) WHERE {_TRIED} IS NOT NULL"


def _aggregate(call: Aggregation, args: Sequence[str], where: list[str], time: str) -> str:
    x = _plain_zero(args[0], call.arg_types[0]) if args else "*"
    match call.function:
        case "count_star":
            return f"COUNT(*){_filter(where)}"
        case "count" | "sum" | "min" | "max" | "bool_and" | "bool_or":
            return f"{call.function.upper()}({x}){_filter(where)}"
        case "avg" if is_decimal(call.arg_types[0]):
            return _decimal_average(call, x, _filter(where))
        case "avg":
            return f"AVG(CAST({x} AS DOUBLE)){_filter(where)}"
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return _spread(call.function, f"CAST({x} AS DOUBLE)", _filter(where))
        case "first" | "last":
            where += [f"{x} IS NOT NULL"] if call.ignore_nulls else []
            return _extreme(x, time, call.function == "last", where)
        case "min_by" | "max_by":
            by = _plain_zero(args[1], call.arg_types[1])
            return _extreme(x, by, call.function == "max_by", [*where, f"{by} IS NOT NULL"])
        case "count_distinct" | "approx_count_distinct":
            return _distinct([_plain_zero(arg, type) for arg, type in zip(args, call.arg_types)], where)
        case "approx_percentile":
            return _percentile(call, x, where)
        case _:
            raise NotImplementedError(call.function)


def _spread(function: str, x: str, where: str) -> str:
    """Of a single infinity, too, the variance is NaN; of a single value the sample variance is null."""
    several = f"COUNT({x}){where} > {1 if function.endswith('samp') else 0}"
    wild = f"BOOL_OR(NOT ISFINITE({x})){where}"
    spread = f"CASE WHEN {wild} THEN 'NaN'::DOUBLE ELSE {function.upper()}({x}){where} END"
    return f"CASE WHEN {several} THEN {spread} END"


def _filter(where: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(where)})" if where else ""


def _plain_zero(x: str, type: str | None) -> str:
    """`-0.0` sorts before `0.0` in DuckDB; in Spark they are one value."""
    return f"({x} + 0)" if type in ("float", "double") else x


def _extreme(x: str, by: str, greatest: bool, where: Sequence[str]) -> str:
    """The value at the least (greatest) `by`; of several the least (greatest), null the least of all."""
    way, nulls = ("DESC", "LAST") if greatest else ("ASC", "FIRST")
    return f"FIRST({x} ORDER BY {by} {way}, {x} {way} NULLS {nulls}){_filter(where)}"


def _distinct(args: Sequence[str], where: Sequence[str]) -> str:
    present = [*where, *(f"{arg} IS NOT NULL" for arg in args)]
    return f"COUNT(DISTINCT ROW({', '.join(args)})){_filter(present)}"


def _percentile(call: Aggregation, x: str, where: Sequence[str]) -> str:
    """The exact one: the value at rank ceil(p * n), at least 1."""
    present = _filter([*where, f"{x} IS NOT NULL"])
    ordered, count = f"LIST({x} ORDER BY {x}){present}", f"COUNT(*){present}"

    def at(share: float) -> str:
        return f"{ordered}[CAST(GREATEST(1, CEIL(CAST({share!r} AS DOUBLE) * {count})) AS BIGINT)]"

    share = call.params[0]
    if not isinstance(share, tuple):
        return at(share)
    return f"CASE WHEN {count} > 0 THEN [{', '.join(at(one) for one in share)}] END"


def _decimal_average(call: Aggregation, x: str, where: str) -> str:
    """Spark's: four digits more than the argument, rounded half up."""
    assert call.arg_types[0] is not None
    _, scale = decimal_parts(call.arg_types[0])
    total = f"SUM({unscaled(x)}){where} * 10000::HUGEINT"
    return rounded_quotient(total, f"CAST(COUNT({x}){where} AS HUGEINT)", call.type or "", scale + 4)


def _halves_of_sum(x: str, where: str) -> tuple[str, str]:
    """The digits above and below `_HALF`, summed apart: neither sum can overflow."""
    return f"SUM({unscaled(x)} // {_HALF}){where}", f"SUM({unscaled(x)} % {_HALF}){where}"


def _finished(call: Aggregation) -> str:
    raw = f"_raw{call.name}"
    if is_wide_sum(call):
        type_ = call.type or ""
        return scaled(f"({raw} * {_HALF} + _low{call.name})", type_, decimal_parts(type_)[1])
    if call.function == "sum" and (is_integral(call.arg_types[0]) or is_decimal(call.arg_types[0])):
        return f"CAST({raw} AS {duckdb_type(call.type or 'bigint')})"
    return raw
