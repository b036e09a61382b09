"""Program text -> statements."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Errors, QueryError, WeftError, nearest
from weft.lang.cursor import Cursor
from weft.lang.dialect import WeftParser
from weft.lang.expressions import expr
from weft.lang.queries import create_query
from weft.lang.select import parse_tree, select
from weft.lang.statements import (
    DropQuery,
    Explain,
    Expr,
    Select,
    ShowQueries,
    ShowStreams,
    Statement,
)
from weft.lang.streams import create_stream
from weft.lang.text import Text
from weft.lang.tokens import check_brackets, statements, tokenize, without_semicolon

_STATEMENTS = "CREATE STREAM, CREATE QUERY, DROP QUERY, SHOW STREAMS, SHOW QUERIES, EXPLAIN"


def parse_program(text: str, file: str = "<text>") -> tuple[Statement, ...]:
    """The statements of a program, in order; every error of it, one per statement, is raised at once."""
    source = Text(text, file)
    pieces = statements(tokenize(source))
    found: list[Statement] = []
    errors: list[WeftError] = []
    for index, piece in enumerate(pieces):
        try:
            found.append(_statement(source, without_semicolon(piece)))
            _check_semicolon(source, piece, index + 1 < len(pieces))
        except QueryError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise Errors(errors)
    return tuple(found)


def parse_select(text: str, file: str = "<text>") -> Select:
    """The SELECT that this text is."""
    source = Text(text, file)
    return select(source, _all_tokens(source))


def parse_expression(text: str, file: str = "<text>") -> Expr:
    """The expression that this text is."""
    source = Text(text, file)
    return expr(parse_tree(source, _all_tokens(source), WeftParser._parse_disjunction))


def _all_tokens(source: Text) -> list[Token]:
    tokens = tokenize(source)
    if not tokens:
        raise QueryError("syntax", "there is nothing here")
    check_brackets(source, tokens)
    return tokens


def _check_semicolon(source: Text, piece: list[Token], more: bool) -> None:
    last = piece[-1]
    if more and last.token_type != TokenType.SEMICOLON:
        raise QueryError(
            "missing-semicolon", "this statement does not end before the next one starts",
            at=source.place_of(last), help="end it with ;",
        )  # fmt: skip


def _statement(source: Text, tokens: list[Token]) -> Statement:
    check_brackets(source, tokens)
    cursor = Cursor(source, tokens)
    if cursor.take("CREATE", "STREAM"):
        return create_stream(cursor)
    if cursor.take("CREATE", "QUERY"):
        return create_query(cursor)
    if cursor.take("DROP", "QUERY"):
        name = cursor.plain_name("the name of a query", help="write DROP QUERY name")
        return _ended(cursor, DropQuery(name, cursor.place_since(0)))
    if cursor.take("SHOW", "STREAMS"):
        return _ended(cursor, ShowStreams())
    if cursor.take("SHOW", "QUERIES"):
        return _ended(cursor, ShowQueries())
    if cursor.take("EXPLAIN"):
        name = cursor.plain_name("the name of a query, or ALL", help="write EXPLAIN name, or EXPLAIN ALL")
        return _ended(cursor, Explain(None if name.upper() == "ALL" else name, cursor.place_since(0)))
    raise _unknown(cursor)


def _ended(cursor: Cursor, statement: Statement) -> Statement:
    if cursor.here is not None:
        cursor.fail("expected the end of the statement", help="end it with ;")
    return statement


def _unknown(cursor: Cursor) -> QueryError:
    first, second = cursor.word(), cursor.word(1)
    at = cursor.place(cursor.tokens[0], cursor.tokens[1] if len(cursor.tokens) > 1 else None)
    if first in ("SELECT", "WITH", "FROM"):
        return QueryError(
            "unknown-statement", "a SELECT alone is no statement of a program", at=cursor.place_here(),
            help="name it: CREATE QUERY name AS SELECT ...",
        )  # fmt: skip
    if first == "CREATE" and second == "OR":
        return QueryError(
            "not-supported", "CREATE OR REPLACE is not supported yet", at=at,
            help="write CREATE QUERY; a changed program is compared with the one that ran before",
        )  # fmt: skip
    close = nearest(f"{first} {second}", _STATEMENTS.split(", "))
    return QueryError(
        "unknown-statement", f"`{first} {second}`".replace(" `", "`") + " starts no statement", at=at,
        help="; ".join(filter(None, (close, f"statements are {_STATEMENTS}"))),
    )  # fmt: skip
