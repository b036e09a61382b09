"""EXPLAIN: a program's logical plans, its shared plan and what it costs, as text or JSON; no Spark."""

from __future__ import annotations

import html
import json
from typing import Any

from weft.errors import QueryError, nearest
from weft.plan.nodes import Program, Query
from weft.plan.show import show
from weft.share.build import build
from weft.share.describe import describe
from weft.share.model.describe import describe_cost_of, describe_forecast
from weft.share.model.forecast import Basis, forecast
from weft.share.model.show import show_cost_of, show_forecast
from weft.share.nodes import SharedPlan
from weft.share.show import show_shared, show_tap


class Explanation(str):
    """A text that shows itself unwrapped in a notebook."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def explain_program(
    program: Program, name: str | None = None, format: str = "text", basis: Basis | None = None
) -> Explanation:
    """EXPLAIN name, or EXPLAIN ALL when `name` is None; `format` is text or json.

    `basis`: what the streams bring and the machine takes, where that is known.
    """
    plan, basis = build(program), basis or Basis()
    query = None if name is None else _find(program, name)
    if format == "json":
        return Explanation(json.dumps(_described(program, plan, query, basis), indent=2))
    if query is None:
        costs = [show_forecast(forecast(plan, basis))] if plan.streams else []
        return Explanation("\n\n".join([show_shared(plan), *costs]))
    tap = f"{show_tap(plan, query.name)}\n{show_cost_of(plan, query.name, basis)}"
    return Explanation("\n\n".join([show(query.plan), tap]))


def _described(program: Program, plan: SharedPlan, query: Query | None, basis: Basis) -> dict[str, Any]:
    queries = program.queries if query is None else (query,)
    logical = {one.name: show(one.plan).splitlines() for one in queries}
    cost = (
        describe_forecast(forecast(plan, basis))
        if query is None
        else describe_cost_of(plan, query.name, basis)
    )
    return {"plans": logical, "shared": describe(plan), "cost": cost}


def _find(program: Program, name: str) -> Query:
    for query in program.queries:
        if query.name.lower() == name.lower():
            return query
    names = [query.name for query in program.queries]
    raise QueryError("unknown-query", f"there is no query `{name}`", help=nearest(name, names))
