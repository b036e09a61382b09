"""Whether a query is a plain one: aggregates over a window of one stream, or rows of it as they come."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from weft.lang.functions import POSITIONAL, TYPED
from weft.lang.outputs import OUTPUTS
from weft.lang.tokens import outside

_SEVERAL = (
    TokenType.JOIN, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.STRAIGHT_JOIN,
)  # fmt: skip
_PAIRS = {
    (TokenType.SELECT, TokenType.DISTINCT),
    (TokenType.FROM, TokenType.L_PAREN),
}
_GROUPING = (TokenType.GROUP_BY, TokenType.HAVING)
_OF_SPANS = ("UNBOUNDED", "INTERNAL")
_OF_TABLES = ("RETROACTIVE", "NONRETROACTIVE")
_AGGREGATES = {name for name, typed in TYPED.items() if issubclass(typed.node, exp.AggFunc)} | set(POSITIONAL)


def is_plain(tokens: list[Token]) -> bool:
    """Do the tokens read one stream, in the words that such a query has?"""
    kinds = [token.token_type for token in tokens]
    if (
        kinds.count(TokenType.SELECT) > 1
        or any(kind in _SEVERAL for kind in kinds)
        or _calls(tokens, OUTPUTS)
    ):
        return False
    if any(pair in _PAIRS for pair in pairwise(kinds)) or has_span(tokens) or _has_comma(tokens):
        return False
    if _reads_table(tokens):
        return False
    return not _has_window(tokens) or any(kind in _GROUPING for kind in kinds) or _calls(tokens, _AGGREGATES)


def _reads_table(tokens: list[Token]) -> bool:
    """Is it said of the name in FROM whether it revises answers?"""
    top = [token for _, token in outside(tokens)]
    start = next((at for at, token in enumerate(top) if token.token_type == TokenType.FROM), len(top))
    behind = [token for token in top[start + 2 : start + 3] if token.token_type == TokenType.VAR]
    return any(token.text.upper() in _OF_TABLES for token in behind)


def _has_window(tokens: list[Token]) -> bool:
    """Does a window stand behind a name in FROM?"""
    kinds = [token.token_type for _, token in outside(tokens)]
    start = kinds.index(TokenType.FROM) if TokenType.FROM in kinds else len(kinds)
    return kinds[start + 2 : start + 3] == [TokenType.L_BRACKET]


def _calls(tokens: list[Token], names: Container[str]) -> bool:
    """Is one of the functions called?"""
    return any(
        following.token_type == TokenType.L_PAREN and token.text.upper() in names
        for token, following in pairwise(tokens)
    )


def has_span(tokens: list[Token]) -> bool:
    """Is there a window without an end, or one that only bounds what is held?"""
    inside = False
    for token in tokens:
        inside = (
            inside or token.token_type == TokenType.L_BRACKET
        ) and token.token_type != TokenType.R_BRACKET
        if inside and token.token_type != TokenType.STRING and token.text.upper() in _OF_SPANS:
            return True
    return False


def _has_comma(tokens: list[Token]) -> bool:
    """Does FROM name several sources?"""
    sources = False
    brackets = 0
    for _, token in outside(tokens):
        brackets += {TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1}.get(token.token_type, 0)
        match token.token_type:
            case TokenType.FROM:
                sources = True
            case (
                TokenType.WHERE | TokenType.GROUP_BY | TokenType.HAVING | TokenType.ORDER_BY | TokenType.LIMIT
            ):
                return False
            case TokenType.COMMA if sources and not brackets:
                return True
    return False
