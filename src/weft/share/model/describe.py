"""Predicted costs as plain values, for JSON: the same facts as the text, in seconds."""

from __future__ import annotations

from typing import Any

from weft.share.model.cost import Cost
from weft.share.model.forecast import Basis, Forecast, StreamForecast, cost_alone, cost_of
from weft.share.model.load import Load
from weft.share.nodes import SharedPlan, StreamPlan


def describe_forecast(found: Forecast) -> dict[str, Any]:
    """CPU-seconds per second of stream, by level, by query, and by other ways to share."""
    return {
        "constants": found.constants.to_json(),
        "streams": [_stream(stream) for stream in found.streams],
    }


def describe_cost_of(plan: SharedPlan, query: str, basis: Basis) -> dict[str, Any]:
    """The same of one query."""
    for stream in plan.streams:
        cost = cost_of(stream, basis)
        if query in cost.queries:
            return {
                "constants": basis.constants.to_json(),
                "stream": stream.stream.name,
                "load": _load(basis.loads.of(stream.stream.name)),
                "query": query,
                "total": cost.of(query),
                "levels": {str(level): s for level, s in cost.queries[query].items()},
                "plan_total": cost.total,
                "alone": _alone(stream, query, basis),
            }
    return {}


def _alone(plan: StreamPlan, query: str, basis: Basis) -> float | None:
    """What the query would cost as a job of its own; None: it has no windows."""
    is_windowed = any(tap.query.name == query for tap in plan.taps)
    return cost_alone(plan, query, basis) if is_windowed else None


def describe_cost(cost: Cost) -> dict[str, Any]:
    return {
        "total": cost.total,
        "levels": {str(level): seconds for level, seconds in cost.levels.items()},
        "queries": {name: cost.of(name) for name in cost.queries},
    }


def _stream(found: StreamForecast) -> dict[str, Any]:
    return {
        "stream": found.stream,
        "load": _load(found.load),
        **describe_cost(found.cost),
        "runs": found.runs,
        "ways": [{"way": way.name, "total": way.cost, "groups": way.groups} for way in found.ways],
        "break_even": [{"what": one.what, "at": one.at, "way": one.way.name} for one in found.break_evens],
    }


def _load(load: Load) -> dict[str, Any]:
    return {
        "rows_per_second": load.rows,
        "rows_by": load.rows_by,
        "groups": load.groups,
        "groups_by": load.groups_by,
        "groups_counted": [{"keys": list(keys), "groups": n} for keys, n in load.counted.items()],
        "passing": dict(load.passing),
        "batch_seconds": load.batch,
        "step_seconds": load.step,
    }
