"""The texts for single rows of a batch: those that went wrong, and those that standing filters ask for."""

from __future__ import annotations

from collections.abc import Sequence

from weft.plan.nodes import Project
from weft.share.nodes import Standing, StreamPlan
from weft.spark.sql import (
    AHEAD,
    BROKEN,
    CORRUPT,
    IS_VALID,
    NO_TIME,
    PLACE,
    TIME,
    at_time,
    code,
    parameter,
    place,
    quoted,
    text,
)

_REASONS = {
    NO_TIME: "the row has no event time",
    AHEAD: "the event time lies further ahead of the clock than MAX AHEAD allows",
    BROKEN: "the record could not be parsed",
}
_LATE = "the row is later than DELAY allows"


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
    wants = ", ".join(_wants(at, standing) for at, standing in enumerate(plan.standing))
    placed = place(plan, source, corrupt, now)
    inner = f"SELECT *, explode(array_compact(array({wants}))) AS _weft_q FROM ({placed})"
    columns = [
        f"CASE WHEN _weft_q = {at} THEN {item} END AS s{at}_{i}"
        for at, standing in enumerate(plan.standing)
        for i, item in enumerate(_items(standing))
    ]
    return at_time(now, f"SELECT _weft_q AS q, {', '.join(columns)} FROM ({inner})")


def _wants(at: int, standing: Standing) -> str:
    condition = IS_VALID if standing.where is None else f"{IS_VALID} AND ({standing.where.sql})"
    return f"CASE WHEN {condition} THEN {at} END"


def _items(standing: Standing) -> list[str]:
    plan = standing.query.plan
    assert isinstance(plan, Project)
    return [item.expr.sql for item in plan.items]
