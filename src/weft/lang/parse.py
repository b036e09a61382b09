"""Program text -> statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Errors, QueryError, nearest
from weft.lang.alike import Alike
from weft.lang.cursor import COMPARED, Cursor
from weft.lang.expressions import expr
from weft.lang.queries import create_query, create_view
from weft.lang.select import select
from weft.lang.statements import (
    CreateQuery,
    DropQuery,
    DropTable,
    DropView,
    Explain,
    Expr,
    Select,
    ShowQueries,
    ShowStreams,
    Statement,
    Unread,
)
from weft.lang.streams import create_stream
from weft.lang.tables import create_table
from weft.lang.text import Text
from weft.lang.tokens import (
    check_brackets,
    cut,
    statements,
    tokenize,
    tokens_between,
    without_semicolon,
)
from weft.lang.trees import parse_scalar

T = TypeVar("T")

_STATEMENTS = (
    "CREATE STREAM, CREATE TABLE, CREATE VIEW, CREATE QUERY, DROP QUERY, DROP VIEW, DROP TABLE, "
    "SHOW STREAMS, SHOW QUERIES, EXPLAIN"
)
_DROPS: dict[str, type[DropQuery | DropView | DropTable]] = {
    "QUERY": DropQuery,
    "VIEW": DropView,
    "TABLE": DropTable,
}
_HEAD_WORDS = set(_STATEMENTS.lower().replace(",", "").split()) | {"or", "replace", "if", "not", "exists"}


def parse_program(text: str, file: str = "<text>") -> tuple[Statement, ...]:
    """The statements of a program, in order; every error of it, one per statement, is raised at once."""
    read = read_program(text, file)
    errors = [one.error for one in read if isinstance(one, Unread)]
    if errors:
        raise errors[0] if len(errors) == 1 else Errors(errors)
    return tuple(one for one in read if not isinstance(one, Unread))


def read_program(text: str, file: str = "<text>") -> tuple[Statement | Unread, ...]:
    """The statements of a program, in order, those that cannot be read among them.

    A string that never closes ends the reading: its statement and all after it may be anything.
    """
    source = Text(text.removeprefix("\ufeff"), file)
    cuts, alike = cut(source), Alike(source)
    read = [
        one
        for start, end in cuts.stretches(len(source.text))
        for one in _read_stretch(source, start, end, alike)
    ]
    return (*read, *([Unread(cuts.opened.error(source))] if cuts.opened is not None else []))


def _read_stretch(source: Text, start: int, end: int, alike: Alike) -> Iterator[Statement | Unread]:
    """The statement that ends with the stretch, and those before it that lack their semicolons."""
    known = alike.query(start, end)
    if known is not None:
        yield known
        return
    try:
        pieces = statements(tokens_between(source, start, end))
    except QueryError as error:
        yield Unread(error)
        return
    read = [
        one
        for index, piece in enumerate(pieces)
        for one in _read(source, piece, more=index + 1 < len(pieces))
    ]
    match read:
        case [CreateQuery() as query] if source.text[end - 1] == ";":
            alike.learn(start, end, without_semicolon(pieces[0]), query)
    yield from read


def _read(source: Text, piece: list[Token], more: bool) -> Iterator[Statement | Unread]:
    try:
        yield _shallow(lambda tokens: _statement(source, tokens), source, without_semicolon(piece))
        _check_semicolon(source, piece, more)
    except QueryError as error:
        yield Unread(error, _names(piece))


def _names(piece: list[Token]) -> frozenset[str]:
    """What a statement may give a name to: the words before its bracket or AS, but those of the language."""
    words = (token.text.lower() for token in piece if token.token_type != TokenType.SEMICOLON)
    head = takewhile(lambda word: word not in ("(", "as"), words)
    return frozenset(head) - _HEAD_WORDS


def parse_select(text: str, file: str = "<text>") -> Select:
    """The SELECT that this text is."""
    source = Text(text, file)
    return _shallow(lambda tokens: select(source, tokens), source, _all_tokens(source))


def parse_expression(text: str, file: str = "<text>") -> Expr:
    """The expression that this text is."""
    source = Text(text, file)
    return _shallow(lambda tokens: expr(parse_scalar(source, tokens)), source, _all_tokens(source))


def _shallow(read: Callable[[list[Token]], T], source: Text, tokens: list[Token]) -> T:
    """What `read` makes of the tokens; nesting that is too deep for it is an error of the text."""
    try:
        return read(tokens)
    except RecursionError:
        at = source.place_of(tokens[0])
        raise QueryError("too-deep", "this is nested too deeply", at=at, help="split it up") from None


def _all_tokens(source: Text) -> list[Token]:
    pieces = statements(tokenize(source))
    if len(pieces) != 1:
        what = "there is nothing here" if not pieces else "there is more than one statement here"
        raise QueryError("syntax", what, at=source.place_of(pieces[1][0]) if pieces else None)
    tokens = without_semicolon(pieces[0])
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
    if cursor.take("CREATE", "VIEW"):
        return create_view(cursor)
    if cursor.take("CREATE", "TABLE"):
        return create_table(cursor)
    for word, made in _DROPS.items():
        if cursor.take("DROP", word):
            name = cursor.plain_name(f"the name of a {word.lower()}", help=f"write DROP {word} name")
            return _ended(cursor, made(name, cursor.place_since(0)))
    if cursor.take("SHOW", "STREAMS"):
        return _ended(cursor, ShowStreams())
    if cursor.take("SHOW", "QUERIES"):
        return _ended(cursor, ShowQueries())
    if cursor.take("EXPLAIN"):
        return _explain(cursor)
    raise _unknown(cursor)


def _explain(cursor: Cursor) -> Statement:
    analyze = cursor.take("ANALYZE")
    if analyze and cursor.here is None:
        return Explain(None, True, cursor.place_since(0))
    name = cursor.plain_name("the name of a query, or ALL", help="write EXPLAIN name, or EXPLAIN ALL")
    return _ended(cursor, Explain(None if name.upper() == "ALL" else name, analyze, cursor.place_since(0)))


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
    if cursor.at("CREATE", "OR", "REPLACE"):
        at = cursor.place(cursor.tokens[0], cursor.tokens[2])
        return QueryError("not-supported", "CREATE OR REPLACE is not supported yet", at=at, help=COMPARED)
    close = nearest(f"{first} {second}", _STATEMENTS.split(", "))
    return QueryError(
        "unknown-statement", f"`{first} {second}`".replace(" `", "`") + " starts no statement", at=at,
        because=close, help=f"statements are {_STATEMENTS}",
    )  # fmt: skip
