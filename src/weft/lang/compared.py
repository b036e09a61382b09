"""The constants that columns are compared with, found among the tokens of a SELECT.

    WHERE venue = 'X' AND qty > 5 AND price < 2 * fee        'X' and 5

Only where a column stands before the sign, and nothing but AND or the end of WHERE behind the constant: so it
is an operand by itself, whatever its value is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

from weft.lang.patterns import Constant
from weft.lang.tokens import outside

Kind = tuple[int, ...]  # constants of one kind are of one type

_SIGNS = (TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_CLAUSES = (TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT)
_ENDS = (TokenType.AND, *_CLAUSES)
_OTHERS = (TokenType.OR, TokenType.BETWEEN, TokenType.CASE)  # among these AND may mean something else
_MOST = 1 << 31  # integers from here on are of a wider type


def compared(tokens: list[Token]) -> list[int]:
    """Which tokens are such constants."""
    where = list(_where(tokens))
    if any(tokens[at].token_type in _OTHERS for at in where):
        return []
    return [at for at in where if _is_operand(tokens, at) and _is_constant(tokens[at])]


def _where(tokens: list[Token]) -> Iterator[int]:
    """The tokens of WHERE that are not in parentheses."""
    inside = False
    for at, token in outside(tokens):
        inside = inside and token.token_type not in _CLAUSES
        if inside:
            yield at
        inside = inside or token.token_type == TokenType.WHERE


def _is_operand(tokens: list[Token], at: int) -> bool:
    before = [token.token_type for token in tokens[at - 2 : at]]
    ends = at + 1 == len(tokens) or tokens[at + 1].token_type in _ENDS
    return ends and len(before) == 2 and before[0] in _NAMES and before[1] in _SIGNS


def _is_constant(token: Token) -> bool:
    if token.token_type not in (TokenType.STRING, TokenType.NUMBER):
        return False
    return kind_of(Constant(token.text, token.token_type == TokenType.STRING)) != ()


def kind_of(constant: Constant) -> Kind:
    """What constants of one type have in common; empty: of a type not told here."""
    if constant.is_string:
        return (0,)
    if constant.text.isdecimal():
        return (1,) if int(constant.text) < _MOST else ()
    found = re.fullmatch(r"([1-9]\d*)\.(\d+)", constant.text)
    return (2, len(found[1]), len(found[2])) if found else ()
