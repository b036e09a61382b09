"""Names -> columns of the stream; home of every "no such column"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from weft.errors import Errors, Place, QueryError, WeftError, nearest
from weft.lang.expressions import PLACE, place_of, settled
from weft.lang.names import may_need_quotes
from weft.lang.statements import Expr
from weft.plan.functions import is_aggregate
from weft.plan.nodes import Column

WINDOW_COLUMNS = ("window_start", "window_end")

_COMPARED = (exp.EQ, exp.NEQ, exp.In, exp.Like)  # where a string is likely to have lost its quotes

Aliases = Mapping[str, exp.Expr]  # lower-case name -> the resolved expression it stands for


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names in a query can mean."""

    stream: str
    columns: tuple[Column, ...]
    qualifier: str  # what may stand before the dot
    windowed: bool = False
    _by_name: Mapping[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {column.name.lower(): column for column in self.columns})

    def find(self, name: str) -> Column | None:
        """The column of that name, in whatever case it is written."""
        return self._by_name.get(name.lower())

    @property
    def types(self) -> dict[str, str | None]:
        return {column.name: column.type for column in self.columns}


def resolve(source: Expr, scope: Scope, aliases: Aliases | None = None, *, alias_first: bool = False) -> Expr:
    """The expression in declared spelling, without qualifiers, aliases replaced by what they stand for.

    A column of the stream comes before an alias; with `alias_first`, as in HAVING and ORDER BY, it does so
    only inside an aggregate.
    """
    problems: list[WeftError] = []

    def visit(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        try:
            return _resolve_column(node, scope, aliases or {}, alias_first)
        except QueryError as error:
            problems.append(error)
            return node

    resolved = source.tree.transform(visit)
    if problems:
        raise problems[0] if len(problems) == 1 else Errors(problems)
    return settled(resolved, source.place or place_of(resolved))


def names_in(source: Expr) -> frozenset[str]:
    """The columns that a resolved expression speaks of."""
    return frozenset(found.name for found in source.tree.find_all(exp.Column))


def column(name: str, place: Place | None = None) -> exp.Column:
    """A reference to the column of that name, quoted only if it must be."""
    made = exp.Column(this=exp.Identifier(this=name, quoted=may_need_quotes(name)))
    if place is not None:
        made.meta[PLACE] = place
    return made


def _resolve_column(node: exp.Column, scope: Scope, aliases: Aliases, alias_first: bool) -> exp.Expr:
    parts, place = node.parts, place_of(node)
    if len(parts) == 1:
        return _resolve_name(node, scope, aliases, alias_first)
    names = [part.name for part in parts]
    if names[0].lower() == scope.qualifier.lower():
        names, parts = names[1:], parts[1:]
    elif scope.find(names[0]) is None:
        raise _no_such_qualifier(names[0], scope, place_of(parts[0]))
    found = scope.find(names[0])
    if found is None:
        raise _no_such_column(names[0], scope, {}, place_of(parts[0]))
    return dotted(column(found.name, place), names[1:])


def dotted(tree: exp.Expr, names: list[str]) -> exp.Expr:
    for name in names:
        tree = exp.Dot(this=tree, expression=exp.Identifier(this=name, quoted=may_need_quotes(name)))
    return tree


def _resolve_name(node: exp.Column, scope: Scope, aliases: Aliases, alias_first: bool) -> exp.Expr:
    name, place = node.name, place_of(node)
    found = scope.find(name)
    alias = aliases.get(name.lower())
    if alias is not None and (found is None or (alias_first and not _inside_aggregate(node))):
        return alias.copy()
    if found is not None:
        return column(found.name, place)
    if name.lower() not in WINDOW_COLUMNS:
        raise _no_such_column(name, scope, aliases, place, is_compared=isinstance(node.parent, _COMPARED))
    if not scope.windowed:
        raise _no_window(name.lower(), place)
    return column(name.lower(), place)


def _inside_aggregate(node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None:
        if is_aggregate(parent):
            return True
        parent = parent.parent
    return False


def _no_such_column(
    name: str, scope: Scope, aliases: Aliases, place: Place | None, is_compared: bool = False
) -> QueryError:
    known = [
        *(column.name for column in scope.columns),
        *aliases,
        *(WINDOW_COLUMNS if scope.windowed else ()),
    ]
    names, close = ", ".join(column.name for column in scope.columns), nearest(name, known)
    in_quotes = f"; a string is written '{name}'" if is_compared and not close else ""
    return QueryError(
        "unknown-column",
        f"stream `{scope.stream}` has no column `{name}`",
        at=place,
        because=close,
        help=f"its columns are {names}{in_quotes}",
    )


def _no_such_qualifier(name: str, scope: Scope, place: Place | None) -> QueryError:
    hidden = name.lower() == scope.stream.lower()
    help = f"write `{scope.qualifier}.` or leave it out"
    if name.lower() == "window":  # Spark's name for it
        help = "the window's columns are window_start and window_end"
    return QueryError(
        "unknown-qualifier",
        f"there is no `{name}` in FROM that a column could come from",
        at=place,
        because=f"it is called `{scope.qualifier}` here" if hidden else nearest(name, [scope.qualifier]),
        help=help,
    )


def _no_window(name: str, place: Place | None) -> QueryError:
    return QueryError(
        "no-window",
        f"`{name}` needs a window",
        at=place,
        because="this query has none",
        help="add one after the stream, such as [RANGE 1 MINUTE SLIDE 10 SECONDS], and an aggregate",
    )
