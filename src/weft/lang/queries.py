"""CREATE QUERY."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import QueryError
from weft.lang.clauses import Clauses, clauses, format_and_options
from weft.lang.cursor import Cursor
from weft.lang.intervals import positive
from weft.lang.statements import CreateQuery, Select, Sink
from weft.lang.text import Text

_KNOWN = "EMIT EMPTY, ON ERROR FAIL, RETAIN, INTO ... OPTIONS"
_SELECT_FIRST = f"write AS SELECT ... first; behind it come {_KNOWN}"
_EXAMPLE = "for instance CREATE QUERY busy AS SELECT COUNT(*) FROM trades [RANGE 1 MINUTE]"

# After one of these a word is an operand, not the start of a clause: `WHERE retain > 5`, `GROUP BY emit`.
_OPERAND_NEXT = {
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AND", "OR", "NOT", "AS", "IN",
    "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "WHEN", "THEN", "ELSE", "CASE", "DISTINCT", "DIV",
    "ON", ",", ".", "(", "[", "=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>", "!", "+", "-", "*", "/",
    "%", "||", "&", "|", "^", "~", "->", "::", ":",
}  # fmt: skip


_EXPLAINED = {
    "ALL": "EXPLAIN ALL means every query",
    "ANALYZE": "EXPLAIN ANALYZE means what was measured",
}


def create_query(cursor: Cursor, select: Callable[[Text, list[Token]], Select]) -> CreateQuery:
    """The query created from here on; CREATE QUERY has been read. `select` reads its SELECT."""
    if cursor.at("AS", "SELECT"):
        cursor.fail("expected the name of a query", code="missing-name", help=_EXAMPLE)
    name = cursor.plain_name("the name of a query", help=_EXAMPLE)
    place = cursor.place_since(0)
    if name.upper() in _EXPLAINED:
        raise QueryError(
            "reserved-name", f"a query cannot be called `{name.lower()}`", at=cursor.place(cursor.last),
            because=_EXPLAINED[name.upper()], help="choose another name",
        )  # fmt: skip
    cursor.expect("AS", help=_SELECT_FIRST if cursor.word() in _READERS else _EXAMPLE)
    if not cursor.at("SELECT") and not cursor.at("WITH"):
        cursor.fail("expected SELECT", help=_EXAMPLE)
    start = cursor.index
    cursor.index = _end_of_select(cursor)
    chosen = select(cursor.text, cursor.tokens[start : cursor.index])
    return CreateQuery(name, chosen, place=place, **clauses(cursor, _READERS, _KNOWN))


def _end_of_select(cursor: Cursor) -> int:
    """Where the SELECT ends and the clauses of the query start, or the end."""
    depth, seen_from = 0, False
    for index in range(cursor.index, len(cursor.tokens)):
        word = _word(cursor.tokens[index])
        depth += 1 if word in ("(", "[", "{") else -1 if word in (")", "]", "}") else 0
        seen_from = seen_from or (depth == 0 and word == "FROM")
        if depth == 0 and seen_from and _starts_clause(cursor.tokens, index):
            return index
    return len(cursor.tokens)


def _starts_clause(tokens: list[Token], index: int) -> bool:
    word = _word(tokens[index])
    following = _word(tokens[index + 1]) if index + 1 < len(tokens) else ""
    if word not in _READERS or _word(tokens[index - 1]) in _OPERAND_NEXT:
        return False
    return word != "ON" or following == "ERROR"  # a join has its ON too


def _word(token: Token) -> str:
    return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()


def _emit_empty(cursor: Cursor) -> Clauses:
    cursor.expect("EMIT", "EMPTY", help="write EMIT EMPTY to get a row for windows without rows too")
    return {"emit_empty": True}


def _on_error(cursor: Cursor) -> Clauses:
    cursor.expect("ON", "ERROR", "FAIL", help="write ON ERROR FAIL to stop the query at a row that fails")
    return {"fail_on_error": True}


def _retain(cursor: Cursor) -> Clauses:
    cursor.expect("RETAIN", help="write RETAIN 7 DAYS")
    return {"retain": positive(cursor, "RETAIN")[0]}


def _into(cursor: Cursor) -> Clauses:
    start = cursor.index
    cursor.expect("INTO", help="write INTO parquet OPTIONS ('path' = 'out')")
    format, options = format_and_options(cursor, "INTO")
    return {"sink": Sink(format, options, cursor.place_since(start))}


_READERS: dict[str, Callable[[Cursor], Clauses]] = {
    "EMIT": _emit_empty,
    "ON": _on_error,
    "RETAIN": _retain,
    "INTO": _into,
}
