"""CREATE TABLE: reference data that is read from a batch source."""

from __future__ import annotations

from collections.abc import Callable

from weft.errors import QueryError, nearest
from weft.lang.clauses import Clauses, clauses, format_and_options
from weft.lang.cursor import Cursor
from weft.lang.intervals import positive
from weft.lang.statements import ColumnDef, CreateTable
from weft.lang.streams import declared_columns

_KNOWN = "KEY, RETROACTIVE, NONRETROACTIVE, REFRESH EVERY, FROM ... OPTIONS"
_COLUMNS = "list the columns: CREATE TABLE companies (symbol STRING, name STRING) ..."
_KEY = "write KEY (symbol)"


def create_table(cursor: Cursor) -> CreateTable:
    """The table declared from here on; CREATE TABLE has been read."""
    name = cursor.plain_name("the name of a table", help="write CREATE TABLE name (columns) FROM ...")
    place = cursor.place_since(0)
    columns = declared_columns(cursor, _COLUMNS)
    _refuse_computed(columns)
    start = cursor.index
    found = clauses(cursor, _READERS, _KNOWN)
    if "format" not in found:
        raise QueryError(
            "missing-from", f"table `{name}` has no FROM", at=place,
            help="add FROM parquet OPTIONS ('path' = 'in/companies'): where its rows come from",
        )  # fmt: skip
    cursor.index = start
    found["key"] = _declared(found.get("key", ()), columns, cursor)
    return CreateTable(name=name, columns=columns, place=place, **found)


def _refuse_computed(columns: tuple[ColumnDef, ...]) -> None:
    for column in columns:
        if column.expr is not None:
            raise QueryError(
                "computed-column", f"column `{column.name}` of a table cannot be computed", at=column.place,
                help="compute it in the query, or in a view over the table",
            )  # fmt: skip


def _declared(key: tuple[str, ...], columns: tuple[ColumnDef, ...], cursor: Cursor) -> tuple[str, ...]:
    """The columns of the key in declared spelling."""
    names = {column.name.lower(): column.name for column in columns}
    for name in key:
        if name.lower() not in names:
            token = next(t for t in cursor.tokens[cursor.index :] if t.text.lower() == name.lower())
            raise QueryError(
                "unknown-column", f"the key has `{name}`, which is no column of the table",
                at=cursor.place(token), because=nearest(name, names.values()),
                help=f"its columns are {', '.join(names.values())}",
            )  # fmt: skip
    return tuple(names[name.lower()] for name in key)


def _key(cursor: Cursor) -> Clauses:
    cursor.expect("KEY", "(", help=_KEY)
    names = [cursor.name("a column of the key", help=_KEY)]
    while not cursor.take(")"):
        if not cursor.take(","):
            cursor.fail("expected , or ) after a column of the key", help=_KEY)
        names.append(cursor.name("a column of the key", help=_KEY))
        if names[-1].lower() in (name.lower() for name in names[:-1]):
            at = cursor.place(cursor.last)
            raise QueryError("duplicate-column", "this column is in the key already", at=at, help="remove it")
    return {"key": tuple(names)}


def _retroactive(cursor: Cursor) -> Clauses:
    return {"retroactive": cursor.advance().text.upper() == "RETROACTIVE"}


def _refresh(cursor: Cursor) -> Clauses:
    cursor.expect("REFRESH", "EVERY", help="write REFRESH EVERY 1 MINUTE")
    return {"refresh": positive(cursor, "REFRESH EVERY")[0]}


def _from(cursor: Cursor) -> Clauses:
    cursor.expect("FROM", help="write FROM parquet OPTIONS ('path' = 'in')")
    format, options = format_and_options(cursor, "FROM")
    return {"format": format, "options": options}


_READERS: dict[str, Callable[[Cursor], Clauses]] = {
    "KEY": _key,
    "RETROACTIVE": _retroactive,
    "NONRETROACTIVE": _retroactive,
    "REFRESH": _refresh,
    "FROM": _from,
}
