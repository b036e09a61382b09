"""CREATE TABLE: reference data that is read from a batch source, or made of a stream of changes."""

from __future__ import annotations

from collections.abc import Callable

from weft.errors import QueryError, nearest
from weft.lang.clauses import Clauses, clauses, format_and_options
from weft.lang.cursor import Cursor
from weft.lang.expressions import expr
from weft.lang.intervals import positive
from weft.lang.statements import ColumnDef, CreateTable
from weft.lang.streams import declared_columns
from weft.lang.trees import parse_scalar

_KNOWN = "KEY, DELETE WHERE, RETROACTIVE, NONRETROACTIVE, REFRESH EVERY, FROM ... OPTIONS, FROM STREAM"
_COLUMNS = "list the columns: CREATE TABLE companies (symbol STRING, name STRING) ..."
_KEY = "write KEY (symbol)"
_DELETE = "write DELETE WHERE op = 'D'"


def create_table(cursor: Cursor) -> CreateTable:
    """The table declared from here on; CREATE TABLE has been read."""
    name = cursor.plain_name("the name of a table", help="write CREATE TABLE name (columns) FROM ...")
    place = cursor.place_since(0)
    has_columns = cursor.word() not in _READERS
    columns = declared_columns(cursor, _COLUMNS) if has_columns else ()
    _refuse_computed(columns)
    start = cursor.index
    found = clauses(cursor, _READERS, _KNOWN)
    if "stream" in found:
        return _of_stream(CreateTable(name=name, columns=columns, place=place, **found))
    if "format" not in found:
        raise QueryError(
            "missing-from", f"table `{name}` has no FROM", at=place,
            help="add FROM parquet OPTIONS ('path' = 'in/companies'): where its rows come from",
        )  # fmt: skip
    cursor.index = start
    if not columns:
        cursor.fail("expected (", help=_COLUMNS)
    _refuse_delete(found)
    found["key"] = _declared(found.get("key", ()), columns, cursor)
    return CreateTable(name=name, columns=columns, place=place, **found)


def _of_stream(table: CreateTable) -> CreateTable:
    """A table of a stream, whose columns are those of the stream."""
    if table.columns:
        raise QueryError(
            "misplaced-columns", "a table of a stream has the columns of the stream",
            at=table.columns[0].place,
            help=f"leave them out: CREATE TABLE {table.name} KEY (...) FROM STREAM {table.stream}",
        )  # fmt: skip
    if table.refresh is not None:
        raise QueryError(
            "misplaced-refresh", "a table of a stream is not read again", at=table.place,
            because="every row of the stream changes it as it comes", help="remove REFRESH EVERY",
        )  # fmt: skip
    if not table.key:
        raise QueryError(
            "missing-key", f"table `{table.name}` has no KEY", at=table.place,
            because="of the rows of a stream the last one of each key is in force",
            help="add KEY (symbol): the columns that say which row a change replaces",
        )  # fmt: skip
    return table


def _refuse_delete(found: Clauses) -> None:
    if "delete" in found:
        raise QueryError(
            "misplaced-delete", "DELETE WHERE is for tables of a stream", at=found["delete"].place,
            because="what is no longer in a batch source is gone when it is read again", help="remove it",
        )  # fmt: skip


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
    start = cursor.index
    cursor.expect("KEY", "(", help=_KEY)
    names = [cursor.name("a column of the key", help=_KEY)]
    while not cursor.take(")"):
        if not cursor.take(","):
            cursor.fail("expected , or ) after a column of the key", help=_KEY)
        names.append(cursor.name("a column of the key", help=_KEY))
        if names[-1].lower() in (name.lower() for name in names[:-1]):
            at = cursor.place(cursor.last)
            raise QueryError("duplicate-column", "this column is in the key already", at=at, help="remove it")
    return {"key": tuple(names), "key_place": cursor.place_since(start)}


def _delete(cursor: Cursor) -> Clauses:
    cursor.expect("DELETE", "WHERE", help=_DELETE)
    start, depth = cursor.index, 0
    while cursor.here is not None and (depth or not _begins_clause(cursor)):
        word = cursor.advance().text
        depth += 1 if word in ("(", "[", "{") else -1 if word in (")", "]", "}") else 0
    if cursor.index == start:
        cursor.fail("expected a condition", help=_DELETE)
    return {"delete": expr(parse_scalar(cursor.text, cursor.tokens[start : cursor.index]))}


def _begins_clause(cursor: Cursor) -> bool:
    """Does another clause begin here? IS DISTINCT FROM goes on, and KEY may be a column."""
    if cursor.at("FROM"):
        return cursor.word(-1) != "DISTINCT"
    known = ("RETROACTIVE",), ("NONRETROACTIVE",), ("KEY", "("), ("REFRESH", "EVERY")
    return any(cursor.at(*words) for words in known)


def _retroactive(cursor: Cursor) -> Clauses:
    return {"retroactive": cursor.advance().text.upper() == "RETROACTIVE"}


def _refresh(cursor: Cursor) -> Clauses:
    cursor.expect("REFRESH", "EVERY", help="write REFRESH EVERY 1 MINUTE")
    return {"refresh": positive(cursor, "REFRESH EVERY")[0]}


def _from(cursor: Cursor) -> Clauses:
    cursor.expect("FROM", help="write FROM parquet OPTIONS ('path' = 'in')")
    if cursor.at("STREAM") and not cursor.at("STREAM", "OPTIONS"):
        return _from_stream(cursor)
    format, options = format_and_options(cursor, "FROM")
    return {"format": format, "options": options}


def _from_stream(cursor: Cursor) -> Clauses:
    cursor.advance()
    name = cursor.name("the name of a stream", help="write FROM STREAM quotes")
    place = cursor.place(cursor.last)
    if cursor.at("["):
        raise QueryError(
            "bad-window", "a table of a stream has no window", at=cursor.place_here(),
            because="the last row of each key stays until another takes its place", help="remove it",
        )  # fmt: skip
    if cursor.at("WHERE"):
        raise QueryError(
            "misplaced-where", "a table of a stream takes in all its rows", at=cursor.place_here(),
            because="a row that was left out would leave the one before it in force",
            help="write the condition in queries, or DELETE WHERE for rows that say that their key is gone",
        )  # fmt: skip
    return {"stream": name, "format": "", "stream_place": place}


_READERS: dict[str, Callable[[Cursor], Clauses]] = {
    "KEY": _key,
    "DELETE": _delete,
    "RETROACTIVE": _retroactive,
    "NONRETROACTIVE": _retroactive,
    "REFRESH": _refresh,
    "FROM": _from,
}
