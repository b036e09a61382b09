"""CREATE QUERY and CREATE VIEW."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Place, QueryError
from weft.lang.clauses import Clauses, clauses, format_and_options
from weft.lang.cursor import Cursor
from weft.lang.intervals import positive
from weft.lang.picking import body
from weft.lang.plain import is_plain
from weft.lang.select import select
from weft.lang.statements import CreateQuery, CreateRelation, CreateView, Sink
from weft.lang.trees import find

_KNOWN = "EMIT EMPTY, EMIT CHANGES, ON ERROR FAIL, RETAIN, INTO ... OPTIONS"
_SELECT_FIRST = f"write AS SELECT ... first; behind it come {_KNOWN}"
_EMIT = "write EMIT EMPTY to get a row for windows without rows too, EMIT CHANGES for rows that come and go"
_VIEW = "for instance CREATE VIEW large AS SELECT * FROM trades [RANGE 1 MINUTE] WHERE qty > 100"
_EXAMPLE = "for instance CREATE QUERY busy AS SELECT COUNT(*) FROM trades [RANGE 1 MINUTE]"

# After one of these a word is an operand, not the start of a clause: `WHERE retain > 5`, `GROUP BY emit`.
_OPERAND_NEXT = {
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AND", "OR", "NOT", "AS", "IN",
    "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "WHEN", "THEN", "ELSE", "CASE", "DISTINCT", "DIV",
    "ON", "JOIN", "USING", "UNION", "EXCEPT", "MINUS", "INTERSECT", "ALL", "EXISTS", ",", ".", "(", "[",
    "=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>", "!", "+", "-", "*", "/", "%", "||", "&", "|", "^",
    "~", "->", "::", ":",
}  # fmt: skip


EXPLAINED = {
    "ALL": "EXPLAIN ALL means every query",
    "ANALYZE": "EXPLAIN ANALYZE means what was measured",
}


def create_query(cursor: Cursor) -> CreateQuery | CreateRelation:
    """The query created from here on; CREATE QUERY has been read."""
    if cursor.at("AS", "SELECT"):
        cursor.fail("expected the name of a query", code="missing-name", help=_EXAMPLE)
    name = cursor.plain_name("the name of a query", help=_EXAMPLE)
    place = cursor.place_since(0)
    if name.upper() in EXPLAINED:
        raise QueryError(
            "reserved-name", f"a query cannot be called `{name.lower()}`", at=cursor.place(cursor.last),
            because=EXPLAINED[name.upper()], help="choose another name",
        )  # fmt: skip
    tokens = _as_select(cursor, _EXAMPLE)
    if _says_changes(cursor) or not is_plain(tokens):
        return _relation(name, tokens, cursor, place)
    return CreateQuery(name, select(cursor.text, tokens), place=place, **query_clauses(cursor))


def create_view(cursor: Cursor) -> CreateView:
    """The view created from here on; CREATE VIEW has been read."""
    name = cursor.plain_name("the name of a view", help=_VIEW)
    place = cursor.place_since(0)
    tokens = _as_select(cursor, _VIEW)
    if cursor.here is not None:
        cursor.fail(
            "a view ends with its query", code="unknown-clause", help="write this where the view is queried"
        )
    return CreateView(name, body(cursor.text, tokens), place)


def _as_select(cursor: Cursor, example: str) -> list[Token]:
    """The tokens of the query that stands here behind AS."""
    cursor.expect("AS", help=_SELECT_FIRST if cursor.word() in _READERS else example)
    if not any(map(cursor.at, ("SELECT", "WITH", "("))):
        cursor.fail("expected SELECT", help=example)
    start = cursor.index
    cursor.index = end_of_select(cursor.tokens, start)
    return cursor.tokens[start : cursor.index]


def _says_changes(cursor: Cursor) -> bool:
    """Does EMIT CHANGES stand among the clauses?"""
    words = [_word(token) for token in cursor.tokens[cursor.index :]]
    return ("EMIT", "CHANGES") in pairwise(words)


def _relation(name: str, tokens: list[Token], cursor: Cursor, place: Place) -> CreateRelation:
    found = body(cursor.text, tokens)
    start = cursor.index
    said = query_clauses(cursor)
    if said.pop("emit_empty", False):
        at = find(cursor.text, cursor.tokens[start:], "EMIT")
        raise QueryError(
            "needs-aggregate", "EMIT EMPTY needs an aggregate over a window of one stream", at=at,
            help="remove it: there is no row of windows without rows",
        )  # fmt: skip
    return CreateRelation(name, found, place=place, **said)


def query_clauses(cursor: Cursor) -> Clauses:
    """What stands behind the SELECT of a query."""
    return clauses(cursor, _READERS, _KNOWN)


def end_of_select(tokens: list[Token], start: int) -> int:
    """Where the SELECT that starts there ends and the clauses of the query start, or the end."""
    depth, seen_from = 0, _word(tokens[start]) == "("
    for index in range(start, len(tokens)):
        word = _word(tokens[index])
        depth += 1 if word in ("(", "[", "{") else -1 if word in (")", "]", "}") else 0
        seen_from = seen_from or (depth == 0 and word == "FROM")
        if depth == 0 and seen_from and _starts_clause(tokens, index):
            return index
    return len(tokens)


def _starts_clause(tokens: list[Token], index: int) -> bool:
    word = _word(tokens[index])
    following = _word(tokens[index + 1]) if index + 1 < len(tokens) else ""
    if word not in _READERS or _word(tokens[index - 1]) in _OPERAND_NEXT:
        return False
    return word != "ON" or following == "ERROR"  # a join has its ON too


def _word(token: Token) -> str:
    return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()


def _emit(cursor: Cursor) -> Clauses:
    cursor.expect("EMIT", help=_EMIT)
    if cursor.take("CHANGES"):
        return {"emit_changes": True}
    cursor.expect("EMPTY", help=_EMIT)
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
    "EMIT": _emit,
    "ON": _on_error,
    "RETAIN": _retain,
    "INTO": _into,
}
