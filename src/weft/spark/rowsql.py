"""The texts for single rows of a batch: those that went wrong, and those that standing filters ask for."""

from __future__ import annotations

from collections.abc import Sequence

from weft.share.nodes import Intake, Standing, StreamPlan
from weft.share.rowcolumns import RowColumns, Value, row_columns
from weft.spark.sql import (
    AHEAD,
    BROKEN,
    CORRUPT,
    IS_VALID,
    NO_TIME,
    PLACE,
    SLICE,
    STATUS,
    TIME,
    at_time,
    code,
    derive,
    one_zero,
    parameter,
    place,
    quoted,
    select,
    text,
)

_REASONS = {
    NO_TIME: "the row has no event time",
    AHEAD: "the event time lies further ahead of the clock than MAX AHEAD allows",
    BROKEN: "the record could not be parsed",
}
_LATE = "the row is later than DELAY allows"


def rows_sql(plan: StreamPlan, source: str, corrupt: bool, now: int | None) -> str:
    """Every row with all that level 1 and the standing filters need of it, one column for each expression.

    `status, slice, time, g<i>, w<i>, v<i>, e<i>`, and for standing filters `q<i>` and `s<i>_<j>`.
    """
    columns = row_columns(plan)
    made = [STATUS, SLICE, f"{TIME} AS time"]
    made += [f"_weft_g{at} AS g{at}" for at in range(len(columns.keys))]
    made += [f"_weft_w{at} AS w{at}" for at in range(len(columns.wheres))]
    made += [f"{_value(value, columns)} AS v{at}" for at, value in enumerate(columns.values)]
    made += [f"({IS_VALID} AND ({guard.fails.sql})) AS e{at}" for at, guard in enumerate(plan.guards)]
    for at, standing in enumerate(plan.passing):
        wants = _wants(standing)
        made.append(f"({wants}) AS q{at}")
        made += [f"CASE WHEN {wants} THEN {item} END AS s{at}_{i}" for i, item in enumerate(_items(standing))]
    return at_time(now, select(made, derive(plan, columns, source, corrupt, now)))


def _value(value: Value, columns: RowColumns) -> str:
    """The argument; evaluated only where a partial takes it, for it may fail elsewhere."""
    sql = one_zero(f"({value.sql})", value.type)
    if value.wheres is None or value.sql.isidentifier():
        return sql
    wheres = " OR ".join(f"_weft_w{columns.wheres.index(where)}" for where in value.wheres)
    return f"CASE WHEN {wheres} THEN {sql} END"


def bad_rows_sql(
    plan: StreamPlan,
    source: str,
    columns: Sequence[str],
    corrupt: bool,
    now: int | None,
    watermark: int | None,
) -> str:
    """One row per thing that is wrong with a row of `source`."""
    wrong = [f"WHEN {PLACE} = {code(status)} THEN {_finding(None, why)}" for status, why in _REASONS.items()]
    found = [f"CASE {' '.join(wrong)} END"]
    for guard in plan.guards:
        found.append(
            f"CASE WHEN {IS_VALID} AND ({guard.fails.sql}) THEN {_finding(guard.query, guard.reason)} END"
        )
    if watermark is not None:
        found.append(
            f"CASE WHEN {IS_VALID} AND {TIME} < {parameter(watermark)} THEN {_finding(None, _LATE)} END"
        )
    row = f"to_json(struct({', '.join(map(quoted, columns))}))"
    row = f"coalesce({CORRUPT}, {row})" if corrupt else row
    inner = (
        f"SELECT explode(array_compact(array({', '.join(found)}))) AS _weft_found, "
        f"timestamp_micros({TIME}) AS event_time, {row} AS row FROM ({place(plan, source, corrupt, now)})"
    )
    return at_time(now, f"SELECT _weft_found.query, _weft_found.reason, event_time, row FROM ({inner})")


def _finding(query: str | None, reason: str) -> str:
    name = "CAST(NULL AS STRING)" if query is None else text(query)
    return f"named_struct('query', {name}, 'reason', {text(reason)})"


def standing_sql(plan: StreamPlan, source: str, corrupt: bool, now: int | None) -> str:
    """For every row of `source` and standing filter that wants it: the filter's number and columns."""
    wants = ", ".join(f"CASE WHEN {_wants(s)} THEN {at} END" for at, s in enumerate(plan.passing))
    placed = place(plan, source, corrupt, now)
    inner = f"SELECT *, explode(array_compact(array({wants}))) AS _weft_q FROM ({placed})"
    columns = [
        f"CASE WHEN _weft_q = {at} THEN {item} END AS s{at}_{i}"
        for at, standing in enumerate(plan.passing)
        for i, item in enumerate(_items(standing))
    ]
    return at_time(now, f"SELECT _weft_q AS q, {', '.join(columns)} FROM ({inner})")


def _wants(standing: Standing | Intake) -> str:
    return IS_VALID if standing.where is None else f"{IS_VALID} AND ({standing.where.sql})"


def _items(standing: Standing | Intake) -> list[str]:
    return [item.expr.sql for item in standing.items]
