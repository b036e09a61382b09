"""EXPLAIN: a program's logical plans, its shared plan and what it costs, as text or JSON; no Spark."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from weft.errors import QueryError, nearest_or_all
from weft.plan.nodes import Program, Query
from weft.plan.show import show
from weft.share.build import build
from weft.share.describe import describe, describe_shares
from weft.share.draw.picture import draw
from weft.share.model.analyze import SAME, Compared, compared, describe_compared, show_compared
from weft.share.model.describe import describe_cost_of, describe_forecast
from weft.share.model.forecast import Basis, forecast
from weft.share.model.measured import Apart, Measured
from weft.share.model.show import show_cost_of, show_forecast
from weft.share.nodes import SharedPlan
from weft.share.relations.decided import Decided
from weft.share.relations.describe import describe_relations
from weft.share.relations.program import without_relations
from weft.share.relations.show import show_relation_of, show_relations
from weft.share.relations.showchains import Told
from weft.share.show import show_shared, show_tap

Stay = Callable[[SharedPlan], Mapping[str, str]]


class Explanation(str):
    """A text that shows itself unwrapped in a notebook, and the plan it is about as a picture."""

    def __new__(cls, said: str, plan: SharedPlan, basis: Basis) -> Self:
        made = super().__new__(cls, said)
        made._plan, made._basis = plan, basis
        return made

    _plan: SharedPlan
    _basis: Basis

    def svg(self) -> str:
        """The shared plan drawn: rows, feeds, windows and what they cost."""
        return draw(self._plan, self._basis)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def explain_program(
    program: Program,
    name: str | None = None,
    format: str = "text",
    basis: Basis | None = None,
    measured: Measured | None = None,
    decided: Decided | None = None,
    plan: SharedPlan | None = None,
    stay: Stay = lambda plan: {},
    apart: Apart = SAME,
) -> Explanation:
    """EXPLAIN name, or EXPLAIN ALL when `name` is None; `format` is text or json.

    `basis`: what the streams bring and the machine takes, where that is known. `measured`: what a run has
    used, to be shown beside what is predicted of it. `plan`: the one in force; else, and for queries that are
    not in it, one is made of all. `decided`: what a run has decided of its relations, which is else done by
    `basis`. `stay`: which of its relations executors could not carry out, and why. `apart`: how what was
    `measured` is of another program.
    """
    basis = basis or Basis()
    decided = decided or Decided(basis)
    query = None if name is None else _find(program, name)
    if plan is None or (query is not None and not _answers(plan, query)):
        plan = build(program, decided=decided)
    told = Told(decided, basis, stay(plan))
    found = None if measured is None else compared(plan, basis, measured, apart)
    if format == "json":
        said = json.dumps(_described(program, plan, query, told, found), indent=2)
    else:
        said = "\n\n".join(_texts(plan, query, told, found))
    return Explanation(said, plan, basis)


def _texts(plan: SharedPlan, query: Query | None, told: Told, found: Compared | None) -> Iterator[str]:
    basis = told.basis
    if query is None:
        alone = without_relations(plan)
        if alone.streams or not plan.related:
            yield show_shared(alone)
        if plan.related:
            yield show_relations(plan, told)
        if alone.streams:
            yield show_forecast(forecast(alone, basis))
    else:
        yield show(query.plan)
        if any(each.query.name == query.name for each in plan.related):
            yield show_relation_of(plan, query.name, told)
        else:
            yield f"{show_tap(plan, query.name)}\n{show_cost_of(plan, query.name, basis)}"
    if found is not None:
        yield show_compared(found, None if query is None else query.name)


def _described(
    program: Program, plan: SharedPlan, query: Query | None, told: Told, found: Compared | None
) -> dict[str, Any]:
    basis = told.basis
    queries, alone = program.queries if query is None else (query,), without_relations(plan)
    logical = {one.name: show(one.plan).splitlines() for one in queries}
    if query is None:
        cost = describe_forecast(forecast(alone, basis))
    else:
        cost = describe_cost_of(alone, query.name, basis)
    used = {} if found is None else {"measured": describe_compared(found)}
    related = {"relations": describe_relations(plan, told)} if plan.related else {}
    mine = {} if query is None else {"shares": describe_shares(alone, query.name)}
    return {"plans": logical, "shared": describe(alone)} | mine | {"cost": cost} | related | used


def _answers(plan: SharedPlan, query: Query) -> bool:
    """Is the query in force?"""
    there = [each.query for each in plan.related]
    for stream in plan.streams:
        there += [each.query for each in stream.taps] + [each.query for each in stream.standing]
    return any(each.name == query.name for each in there)


def _find(program: Program, name: str) -> Query:
    for query in program.queries:
        if query.name.lower() == name.lower():
            return query
    names = [query.name for query in program.queries]
    raise QueryError("unknown-query", f"there is no query `{name}`", help=nearest_or_all(name, names))
