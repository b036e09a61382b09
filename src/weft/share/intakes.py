"""Queries over several sources: their relations made safe, and the rows of each stream that these ask for.

q1  trades WHERE qty > 10, of which it reads symbol, price            rows of trades WHERE qty > 10 OR live,
q2  trades WHERE live, of which it reads symbol, price * qty          symbol, price, price * qty, and which
                                                                      of the two conditions hold
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from weft.errors import Bug
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Named, Query, Related, Stream, Table
from weft.plan.relations import Relation, Rows
from weft.plan.relationtree import rewrite_up, walk
from weft.plan.scope import column, names_in
from weft.share.guards import guarded
from weft.share.nodes import Guard, Intake, Woven
from weft.share.parts import Parts, disjunction
from weft.share.relations.outliving import outliving

CONDITION = "? "  # begins the names of the columns that tell for which rows a condition holds


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a stream is asked for by relations."""

    intake: Intake
    guards: tuple[Guard, ...]

    def columns(self) -> set[str]:
        """The columns of the stream that are read."""
        sources = [item.expr for item in self.intake.items] + [guard.fails for guard in self.guards]
        return {name for source in sources for name in names_in(source)}


def woven(query: Query, streams: Iterable[Stream]) -> tuple[Woven, dict[str, Guard]]:
    """The query with leaves that cannot fail; and for each stream when one of them would have failed."""
    if not isinstance(query.plan, Related):
        raise Bug("plan-shape", f"`{query.name}` is about one stream alone")
    declared = tuple(streams)
    types = {stream.name: {c.name: c.type for c in stream.columns} for stream in declared}
    fails: dict[str, list[Expr]] = {}

    def safe(node: Relation) -> Relation:
        if not isinstance(node, Rows):
            return node
        parts = Parts(node.stream, node.where, None, None, None, None, node.items)
        found = guarded(query.name, parts, types[node.stream])
        if found.guard is not None:
            fails.setdefault(node.stream, []).append(found.guard.fails)
        items = tuple(replace(item, expr=key) for item, key in zip(node.items, found.keys, strict=True))
        return replace(node, items=items, where=found.where)

    times = {stream.name: stream.statement.time_column for stream in declared}
    relation = outliving(rewrite_up(query.plan.relation, safe), times)
    return Woven(query, relation), {stream: _guard(query.name, each) for stream, each in fails.items()}


def _guard(query: str, fails: list[Expr]) -> Guard:
    any_ = disjunction(fails)
    assert any_ is not None
    return Guard(query, any_, f"an expression of `{query}` fails on this row")


def leaves(related: Iterable[Woven], stream: str) -> Iterator[Rows]:
    """The leaves of relations that read a stream."""
    for each in related:
        for node in walk(each.relation):
            if isinstance(node, Rows) and node.stream == stream:
                yield node


def changes_read(table: Table) -> Rows:
    """What a table that is made of changes reads of its stream: whole rows, and which are deletions."""
    if table.flow is None:
        raise Bug("plan-shape", f"`{table.name}` is not made of changes")
    items = [Named(one.name, expr(column(one.name)), one.type) for one in table.columns]
    if table.flow.delete is not None:
        items.append(Named(CONDITION, table.flow.delete, "boolean"))
    return Rows(table.flow.stream, tuple(items), None, None)


def gathered(
    stream: Stream, related: Iterable[Woven], guards: Iterable[Guard], tables: Iterable[Table] = ()
) -> Gathered | None:
    """What relations want of a stream, and tables that are made of it; None: nothing."""
    made = [changes_read(one) for one in tables if one.flow is not None and one.flow.stream == stream.name]
    read = [*leaves(related, stream.name), *made]
    if not read:
        return None
    time = stream.statement.time_column
    types = {each.name: each.type for each in stream.columns}
    items = {time: Named(time, expr(column(time)), types[time])}
    wheres: dict[Expr | None, None] = {}
    for leaf in read:
        wheres[leaf.where] = None
        for item in leaf.items:
            items.setdefault(item.expr.sql, Named(item.expr.sql, item.expr, item.type))
    some = [where for where in wheres if where is not None]
    items |= {CONDITION + where.sql: Named(CONDITION + where.sql, where, "boolean") for where in some}
    wanted = disjunction(some) if len(some) == len(wheres) else None
    return Gathered(Intake(wanted, tuple(items.values())), tuple(guards))
