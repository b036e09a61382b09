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
_ENDS = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT)
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
        or (TokenType.SELECT, TokenType.DISTINCT) in pairwise(kinds)
        or _calls(tokens, OUTPUTS)
    ):
        return False
    sources = _sources(tokens)
    if _is_nested(sources) or has_span(sources) or _has_comma(sources) or _is_table(sources):
        return False
    is_windowed = [token.token_type for token in sources[1:2]] == [TokenType.L_BRACKET]
    return not is_windowed or any(kind in _GROUPING for kind in kinds) or _calls(tokens, _AGGREGATES)


def source_at(tokens: list[Token]) -> int:
    """Where the sources of this SELECT begin, behind its FROM; their number if it has none.

    Another FROM stands in parentheses, EXTRACT(HOUR FROM ts), or behind a DISTINCT, a IS DISTINCT FROM b.
    """
    top = list(outside(tokens))
    for (_, before), (at, token) in pairwise([*top[:1], *top]):
        if token.token_type == TokenType.FROM and before.token_type != TokenType.DISTINCT:
            return at + 1
    return len(tokens)


def _sources(tokens: list[Token]) -> list[Token]:
    """What stands in FROM."""
    behind = tokens[source_at(tokens) :]
    return behind[: next((at for at, token in outside(behind) if token.token_type in _ENDS), len(behind))]


def _is_nested(sources: list[Token]) -> bool:
    """Is it a query in parentheses?"""
    return [token.token_type for token in sources[:1]] == [TokenType.L_PAREN]


def _is_table(sources: list[Token]) -> bool:
    """Is it said of the name in FROM whether it revises answers?"""
    return any(
        token.token_type == TokenType.VAR and token.text.upper() in _OF_TABLES for token in sources[1:2]
    )


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


def _has_comma(sources: list[Token]) -> bool:
    """Does FROM name several sources?"""
    brackets = 0
    for _, token in outside(sources):
        brackets += {TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1}.get(token.token_type, 0)
        if token.token_type == TokenType.COMMA and not brackets:
            return True
    return False
