"""Tokens -> sqlglot's tree, with places; what its parser complains about, in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Place, QueryError
from weft.lang.dialect import WRITTEN, SyntaxTrouble, WeftParser, parser
from weft.lang.expressions import with_places
from weft.lang.text import Text
from weft.lang.troubles import syntax_error
from weft.lang.types import check_type


def parse_tree(text: Text, tokens: list[Token], method: Callable[[WeftParser], Any]) -> exp.Expr:
    """What the parser's method makes of all these tokens."""
    try:
        (tree,) = parser(text)._parse(method, tokens, text.text)  # type: ignore[arg-type]
    except SyntaxTrouble as trouble:
        raise syntax_error(text, tokens, trouble) from None
    if tree is None:
        raise QueryError("syntax", "an expression is missing", at=text.place_of(tokens[0]))
    _check_types(tree, text)
    return with_places(tree, text)


def _check_types(tree: exp.Expr, text: Text) -> None:
    for node in tree.find_all(exp.DataType):
        tokens = node.meta.pop(WRITTEN, None)
        if tokens is not None:
            check_type(text, tokens)


def parse_scalar(text: Text, tokens: list[Token]) -> exp.Expr:
    """The scalar expression that these tokens are."""
    tree = parse_tree(text, tokens, WeftParser._parse_disjunction)
    refuse_nested(tree, text, tokens)
    return tree


def refuse_nested(tree: exp.Expr, text: Text, tokens: list[Token]) -> None:
    """Raise where an expression has a window function or a query inside."""
    for node in tree.find_all(exp.Window, exp.Query):
        if isinstance(node, exp.Window):
            raise unsupported("OVER", find(text, tokens, "OVER"), "put a window in brackets after the stream")
        if node is not tree:
            raise unsupported("a subquery", find(text, tokens[1:], "SELECT"), "write a query of its own")


def unsupported(what: str, at: Place | None, help: str) -> QueryError:
    return QueryError("not-supported", f"{what} is not supported yet", at=at, help=help)


def find(text: Text, tokens: list[Token], *words: str) -> Place:
    """The first of the words among the tokens, else the first token."""
    for token in tokens:
        if token.text.upper() in words and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            return text.place_of(token)
    return text.place_of(tokens[0])
