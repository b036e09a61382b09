"""CREATE STREAM -> Stream: every column typed, the event time checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.errors import QueryError, nearest
from weft.lang.statements import ColumnDef, CreateStream, Expr
from weft.plan.nodes import Column, Stream
from weft.plan.problems import Problems
from weft.plan.rows import Rows, refuse_aggregates
from weft.plan.scope import Scope, names_in, resolve

Told = Mapping[str, str]


def bind_stream(statement: CreateStream, told: Told, problems: Problems) -> Stream | None:
    """The stream with every column typed, and computed columns in terms of those that are read.

    None if a column is wrong. A wrong event time is no reason to be silent about the queries.
    """
    read = tuple(Column(made.name, made.type) for made in statement.columns if made.expr is None)
    rows = Rows(Scope(statement.name, read, statement.name), told)
    definitions: list[ColumnDef] = []
    columns: dict[str, Column] = {}
    for made in statement.columns:
        bound = problems.attempt(_bind_column, made, rows, definitions, statement)
        if bound is not None:
            definitions.append(bound)
            columns[bound.name] = Column(
                bound.name, bound.type if bound.expr is None else rows.type(bound.expr)
            )
    time_column = problems.attempt(_time_column, statement, columns) or statement.time_column
    if len(definitions) < len(statement.columns):
        return None
    declared = replace(statement, columns=tuple(definitions), time_column=time_column)
    return Stream(statement.name, tuple(columns.values()), declared)


def _bind_column(
    made: ColumnDef, rows: Rows, before: Sequence[ColumnDef], statement: CreateStream
) -> ColumnDef:
    """A computed column over columns that are read; those computed before it are replaced by theirs."""
    if made.expr is None:
        return made
    aliases = {other.name.lower(): other.expr.tree for other in before if other.expr is not None}
    _check_order(made, made.expr, set(aliases), statement)
    resolved = resolve(made.expr, rows.scope, aliases)
    refuse_aggregates(
        resolved, "misplaced-aggregate", f"column `{made.name}` cannot be an aggregate",
        help="a computed column is worked out from one row; aggregate in a query",
    )  # fmt: skip
    rows.check(resolved)
    return replace(made, expr=resolved)


def _check_order(made: ColumnDef, source: Expr, before: set[str], statement: CreateStream) -> None:
    """Raise where a computed column uses another that is computed after it, or itself."""
    computed = {other.name.lower() for other in statement.columns if other.expr is not None}
    for name in sorted(names_in(source)):
        if name.lower() in computed - before:
            raise QueryError(
                "computed-later",
                f"column `{made.name}` cannot use `{name}`, which is not computed before it",
                at=made.place,
                help=f"declare `{name}` first" if name.lower() != made.name.lower() else "use other columns",
            )


def _time_column(statement: CreateStream, columns: Mapping[str, Column]) -> str:
    """The event-time column in declared spelling."""
    name = statement.time_column.lower()
    declared = {made.name.lower(): made.name for made in statement.columns}
    if name not in declared:
        raise QueryError(
            "unknown-column",
            f"TIMESTAMP BY names `{statement.time_column}`, which stream `{statement.name}` does not have",
            at=statement.time_place or statement.place,
            because=nearest(name, declared.values()),
            help=f"its columns are {', '.join(declared.values())}",
        )
    found = columns.get(declared[name])  # None: it is wrong in itself and has been reported
    if found is not None and found.type not in (None, "timestamp"):
        made = next(made for made in statement.columns if made.name == found.name)
        raise QueryError(
            "time-column-type",
            f"the event time `{found.name}` is of type {found.type}, not TIMESTAMP",
            at=made.place or statement.place,
            help=_time_help(found),
        )
    return declared[name]


def _time_help(found: Column) -> str:
    made = {
        "bigint": f"timestamp_millis({found.name})",
        "int": f"timestamp_seconds({found.name})",
        "string": f"to_timestamp({found.name})",
    }.get(found.type or "", f"CAST({found.name} AS TIMESTAMP)")
    return f"add a computed column, event_time AS {made}, and write TIMESTAMP BY event_time"
