"""EXPLAIN: a program's logical plans and its shared plan, as text or JSON; no Spark."""

from __future__ import annotations

import html
import json

from weft.errors import QueryError, nearest
from weft.plan.nodes import Program, Query
from weft.plan.show import show
from weft.share.build import build
from weft.share.describe import describe
from weft.share.show import show_shared, show_tap


class Explanation(str):
    """A text that shows itself unwrapped in a notebook."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def explain_program(program: Program, name: str | None = None, format: str = "text") -> Explanation:
    """EXPLAIN name, or EXPLAIN ALL when `name` is None; `format` is text or json."""
    plan = build(program)
    queries = program.queries if name is None else (_find(program, name),)
    if format == "json":
        logical = {query.name: show(query.plan).splitlines() for query in queries}
        return Explanation(json.dumps({"plans": logical, "shared": describe(plan)}, indent=2))
    if name is None:
        return Explanation(show_shared(plan))
    return Explanation("\n\n".join([show(queries[0].plan), show_tap(plan, queries[0].name)]))


def _find(program: Program, name: str) -> Query:
    for query in program.queries:
        if query.name.lower() == name.lower():
            return query
    names = [query.name for query in program.queries]
    raise QueryError("unknown-query", f"there is no query `{name}`", help=nearest(name, names))
