"""The SELECT list: what each item means over the columns of the stream, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.lang.expressions import expr
from weft.lang.statements import Expr, Item, Select
from weft.plan.coercion import number_text
from weft.plan.problems import Problems
from weft.plan.scope import Aliases, Scope, column, resolve


@dataclass(frozen=True, slots=True)
class Meant:
    """One item: its name in the answer, the alias if that is where the name is from, and its meaning."""

    name: str
    alias: str | None
    expr: Expr


def bind_items(select: Select, scope: Scope, problems: Problems) -> tuple[Meant, ...]:
    """The items in order, `*` replaced by columns; an alias may be used by the items after it."""
    found: list[Meant] = []
    for item in select.items:
        found += problems.attempt(_bind_item, item, select, scope, aliases(found)) or ()
    check_names(found, problems)
    return tuple(found)


def aliases(items: Sequence[Meant]) -> Aliases:
    return {item.alias.lower(): item.expr.tree for item in items if item.alias is not None}


def at_position(source: Expr, items: Sequence[Meant], clause: str) -> Expr | None:
    """The item that `GROUP BY 2` or `ORDER BY 2` points at; None if `source` is no position."""
    text = number_text(source.tree)
    if text is None or not text.isdigit():
        return None
    if not 1 <= int(text) <= len(items):
        raise QueryError(
            "bad-position",
            f"{clause} {text} points at no item",
            at=source.place,
            because=f"the SELECT list has {len(items)}",
            help="count from 1, or write the expression",
        )
    return replace(items[int(text) - 1].expr, place=source.place)


def _bind_item(item: Item, select: Select, scope: Scope, before: Aliases) -> tuple[Meant, ...]:
    tree = item.expr.tree
    if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
        return _expand_star(tree, select, scope, item.expr.place or select.place)
    meant = resolve(item.expr, scope, before)
    return (Meant(item.alias or _name(meant), item.alias, meant),)


def _name(source: Expr) -> str:
    tree = source.tree
    return tree.name if isinstance(tree, exp.Column) else source.sql.lower()


def _expand_star(tree: exp.Expr, select: Select, scope: Scope, place: Place | None) -> tuple[Meant, ...]:
    qualifier = tree.table if isinstance(tree, exp.Column) else ""
    if qualifier and qualifier.lower() != scope.qualifier.lower():
        raise QueryError(
            "unknown-qualifier",
            f"there is no `{qualifier}` in FROM",
            at=place,
            help=f"write {scope.qualifier}.* or *",
        )
    if scope.windowed or select.group_by:
        raise QueryError(
            "star-in-aggregate",
            "`*` cannot be selected from a window",
            at=place,
            because="an answer has group keys and aggregates, not rows",
            help="name the group keys and aggregates that you want",
        )
    return tuple(Meant(found.name, None, expr(column(found.name, place), place)) for found in scope.columns)


def check_names(items: Sequence[Meant], problems: Problems) -> None:
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            problems.add(
                QueryError(
                    "duplicate-column",
                    f"two columns of the answer are called `{item.name}`",
                    at=item.expr.place,
                    help=f"give one of them another name: {item.expr.sql} AS ...",
                )
            )
        seen.add(item.name.lower())
