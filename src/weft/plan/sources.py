"""What the names in a SELECT over several sources can mean: qualifiers, `x.*`, USING, and names from outside.

FROM trades [RANGE 1 MINUTE] x JOIN quotes [RANGE 1 MINUTE] y ON x.symbol = y.symbol
x.price    the column `_s0_price`        bid    `_s1_bid`, if no other source has one
symbol     ambiguous                     after JOIN ... USING (symbol): that of both
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.errors import Errors, Place, QueryError, WeftError, nearest
from weft.lang.bodies import JoinKind
from weft.lang.expressions import expr, place_of, settled
from weft.lang.statements import Expr
from weft.plan.functions import is_aggregate
from weft.plan.nodes import Column
from weft.plan.scope import WINDOW_COLUMNS, Aliases, column, dotted


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a source: what it is called, and what it is in terms of the relation."""

    name: str
    qualifier: str  # "" for a column that USING made of two
    expr: Expr
    shown: bool = True  # may stand without qualifier; not where USING has made one of two


@dataclass(frozen=True, slots=True)
class Names:
    """The columns that names can mean, those of the SELECT around it behind them."""

    fields: tuple[Field, ...]
    outer: Names | None = None
    windowed: bool = False  # whether window_start and window_end can be named

    @property
    def qualifiers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(field.qualifier for field in self.fields if field.qualifier))

    @property
    def inner_names(self) -> frozenset[str]:
        """The columns of the relation that its fields speak of."""
        return frozenset(node.name for field in self.fields for node in field.expr.tree.find_all(exp.Column))

    @property
    def words(self) -> dict[str, str]:
        """What the author calls each column of the relation, those outside among them."""
        several = len(self.qualifiers) > 1 or self.outer is not None
        own = {
            field.expr.sql: f"{field.qualifier}.{field.name}" if several else field.name
            for field in self.fields
            if field.qualifier
        }
        return {**(self.outer.words if self.outer is not None else {}), **own}


def source_name(number: int, name: str) -> str:
    """What the column of a source is called in the relation."""
    return f"_s{number}_{name}"


def named(number: int, columns: Iterable[Column], qualifier: str) -> Names:
    """The names of one source."""
    return Names(
        tuple(Field(one.name, qualifier, expr(column(source_name(number, one.name)))) for one in columns)
    )


def joined(left: Names, right: Names, kind: JoinKind, using: Sequence[str], place: Place | None) -> Names:
    """The names of two sources side by side; of a SEMI or ANTI join only the left ones are left."""
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    for qualifier in right.qualifiers:
        if qualifier.lower() in (other.lower() for other in left.qualifiers):
            raise QueryError(
                "duplicate-alias",
                f"two sources are called `{qualifier}`",
                at=place,
                help=f"give each a name of its own: FROM {qualifier} a JOIN {qualifier} b",
            )
    made = tuple(_made_of_two(name, left, right, kind, place) for name in using)
    hidden = {name.lower() for name in using}
    rest = [
        replace(field, shown=False) if field.name.lower() in hidden else field
        for field in (*left.fields, *right.fields)
        if field.qualifier or field.name.lower() not in hidden
    ]
    return Names((*made, *rest), left.outer)


def _made_of_two(name: str, left: Names, right: Names, kind: JoinKind, place: Place | None) -> Field:
    one, other = using_field(name, left, place), using_field(name, right, place)
    match kind:
        case JoinKind.RIGHT:
            return Field(other.name, "", other.expr)
        case JoinKind.FULL:
            both = exp.Coalesce(this=one.expr.tree.copy(), expressions=[other.expr.tree.copy()])
            return Field(one.name, "", expr(both))
        case _:
            return Field(one.name, "", one.expr)


def using_field(name: str, names: Names, place: Place | None) -> Field:
    """The column that USING names on one side of a join."""
    found = [field for field in names.fields if field.shown and field.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    sides = " and ".join(f"`{qualifier}`" for qualifier in names.qualifiers)
    if found:
        raise QueryError(
            "ambiguous-column", f"USING names `{name}`, which {sides} both have", at=place,
            help="write ON with the one you mean",
        )  # fmt: skip
    raise QueryError(
        "unknown-column", f"USING names `{name}`, which {sides} does not have", at=place,
        because=nearest(name, [field.name for field in names.fields]),
        help="name columns that both sides have, or write ON",
    )  # fmt: skip


def resolve_names(
    source: Expr, names: Names, aliases: Aliases | None = None, *, alias_first: bool = False
) -> Expr:
    """The expression over the columns of the relation, aliases replaced by what they stand for.

    A column of a source comes before an alias; with `alias_first`, as in HAVING and ORDER BY, it does so only
    inside an aggregate.
    """
    problems: list[WeftError] = []

    def visit(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        try:
            return _resolved(node, names, aliases or {}, alias_first)
        except QueryError as error:
            problems.append(error)
            return node

    found = source.tree.transform(visit)
    if problems:
        raise problems[0] if len(problems) == 1 else Errors(problems)
    return settled(found, source.place or place_of(found))


def _resolved(node: exp.Column, names: Names, aliases: Aliases, alias_first: bool) -> exp.Expr:
    parts, place = [part.name for part in node.parts], place_of(node)
    if len(parts) > 1:
        return _qualified(parts, names, place)
    alias = aliases.get(parts[0].lower())
    if alias is not None and alias_first and not _inside_aggregate(node):
        return alias.copy()
    if parts[0].lower() in WINDOW_COLUMNS and names.windowed:
        return column(parts[0].lower(), place)
    found = _unqualified(parts[0], names, place)
    if found is not None:
        return _placed(found, place)
    if alias is not None:
        return alias.copy()
    raise _unknown(parts[0], names, aliases, place)


def _inside_aggregate(node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None and not is_aggregate(parent):
        parent = parent.parent
    return parent is not None


def _placed(field: Field, place: Place | None) -> exp.Expr:
    """The field as it stands here."""
    tree = field.expr.tree
    return column(tree.name, place) if isinstance(tree, exp.Column) else tree.copy()


def _unqualified(name: str, names: Names, place: Place | None) -> Field | None:
    found = [field for field in names.fields if field.shown and field.name.lower() == name.lower()]
    if len(found) > 1:
        ways = " or ".join(f"{field.qualifier}.{field.name}" for field in found)
        raise QueryError(
            "ambiguous-column", f"`{name}` may be a column of several sources", at=place, help=f"write {ways}"
        )
    if found:
        return found[0]
    return _unqualified(name, names.outer, place) if names.outer is not None else None


def _qualified(parts: Sequence[str], names: Names, place: Place | None) -> exp.Expr:
    scope: Names | None = names
    while scope is not None:
        if parts[0].lower() in (qualifier.lower() for qualifier in scope.qualifiers):
            return dotted(_placed(_of_source(parts[0], parts[1], scope, place), place), list(parts[2:]))
        scope = scope.outer
    found = _unqualified(parts[0], names, place)  # a field of a struct
    if found is None:
        raise _unknown_qualifier(parts[0], names, place)
    return dotted(_placed(found, place), list(parts[1:]))


def _of_source(qualifier: str, name: str, names: Names, place: Place | None) -> Field:
    own = [field for field in names.fields if field.qualifier.lower() == qualifier.lower()]
    for field in own:
        if field.name.lower() == name.lower():
            return field
    raise QueryError(
        "unknown-column", f"`{qualifier}` has no column `{name}`", at=place,
        because=nearest(name, [field.name for field in own]),
        help=f"its columns are {', '.join(field.name for field in own)}",
    )  # fmt: skip


def _unknown(name: str, names: Names, aliases: Aliases, place: Place | None) -> QueryError:
    if name.lower() in WINDOW_COLUMNS:
        return QueryError(
            "no-window", f"`{name.lower()}` needs windows with SLIDE", at=place,
            because="without it there is an answer as of every instant",
            help="write SLIDE in the windows, such as [RANGE 1 MINUTE SLIDE 10 SECONDS]",
        )  # fmt: skip
    known = [field.name for field in names.fields]
    return QueryError(
        "unknown-column",
        f"no source has a column `{name}`",
        at=place,
        because=nearest(name, [*known, *aliases]),
        help=f"columns are {', '.join(dict.fromkeys(known))}",
    )


def _unknown_qualifier(name: str, names: Names, place: Place | None) -> QueryError:
    known = list(names.qualifiers) + list(names.outer.qualifiers if names.outer is not None else ())
    return QueryError(
        "unknown-qualifier",
        f"there is no `{name}` in FROM that a column could come from",
        at=place,
        because=nearest(name, known),
        help=f"sources are {', '.join(known)}" if known else "give the subquery a name: (SELECT ...) AS x",
    )


def star(qualifier: str, names: Names, place: Place | None) -> tuple[Field, ...]:
    """The columns that `*` or `x.*` stands for."""
    if not qualifier:
        return tuple(field for field in names.fields if field.shown)
    if qualifier.lower() not in (known.lower() for known in names.qualifiers):
        raise _unknown_qualifier(qualifier, names, place)
    return tuple(field for field in names.fields if field.qualifier.lower() == qualifier.lower())
