"""Spark's SQL plus windows in brackets, as a sqlglot dialect.

It departs from sqlglot's Spark dialect where that one serves translation to other engines and would change
what Spark computes: calls keep their names (see `functions`), CAST is strict as in ANSI mode, operators have
Spark's precedence, so that the tree means what Spark would read.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from weft.lang.cursor import Cursor
from weft.lang.functions import BUILDERS
from weft.lang.text import Text
from weft.lang.windows import window

WINDOW = "window"  # where a table's node keeps its WindowSpec, in `meta`
SPAN = "span"  # where a node keeps the offsets of its text, in `meta`

_KEPT_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY")
_COMPARISONS = SparkParser.EQUALITY | SparkParser.COMPARISON
_ADDITIVE: dict[TokenType, type[exp.Expression]] = {
    TokenType.PLUS: exp.Add,
    TokenType.DASH: exp.Sub,
    TokenType.DPIPE: exp.DPipe,
}
_BITS = ((TokenType.PIPE, exp.BitwiseOr), (TokenType.CARET, exp.BitwiseXor), (TokenType.AMP, exp.BitwiseAnd))


class SyntaxTrouble(ParseError):
    """What sqlglot's parser found wrong, and the token where it did (None: at the end)."""

    def __init__(self, message: str, token: Token | None) -> None:
        super().__init__(message)
        self.token = token


class WeftParser(SparkParser):
    STRICT_CAST = True
    FUNCTIONS: ClassVar[dict[str, Any]] = BUILDERS
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in _KEPT_PARSERS
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
    }

    text: Text = Text("")

    def raise_error(self, message: str, token: Token | None = None) -> None:
        raise SyntaxTrouble(message, token or (self._curr if self._curr else None))

    # windows and places

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if not (isinstance(this, exp.Table) and self._curr.token_type == TokenType.L_BRACKET):
            return super()._parse_bracket(this)
        cursor = Cursor(self.text, self._tokens)
        cursor.index = self._index
        this.meta[WINDOW] = window(cursor)
        self._advance(cursor.index - self._index)
        return this

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._spanned(super()._parse_disjunction)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        return self._spanned(lambda: super(WeftParser, self)._parse_function_call(*args, **kwargs))

    def _spanned(self, parse: Any) -> exp.Expr | None:
        first = self._curr
        this: exp.Expr | None = parse()
        if this is not None and first and self._prev:
            this.meta[SPAN] = (first.start, self._prev.end + 1)
        return this

    # Spark's precedence, loosest first: comparison and predicate, |, ^, &, shifts, + - ||, * / % DIV, unary

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        this = self._parse_bitwise()
        while self._match_set(_COMPARISONS):
            node = _COMPARISONS[self._prev.token_type]
            this = self.expression(node(this=this, expression=self._parse_bitwise()))
        return self._parse_range(this, parse_is=True) if parse_is and this is not None else this

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._parse_bits(0)

    def _parse_bits(self, level: int) -> exp.Expr | None:
        if level == len(_BITS):
            return self._parse_shift()
        token, node = _BITS[level]
        this = self._parse_bits(level + 1)
        while self._match(token):
            this = self.expression(node(this=this, expression=self._parse_bits(level + 1)))
        return this

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_term()
        while True:
            if self._match_pair(TokenType.LT, TokenType.LT):
                this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
            elif self._match_pair(TokenType.GT, TokenType.GT):
                unsigned = self._match(TokenType.GT)
                right = self._parse_term()
                this = self.expression(
                    exp.Anonymous(this="SHIFTRIGHTUNSIGNED", expressions=[this, right])
                    if unsigned
                    else exp.BitwiseRightShift(this=this, expression=right)
                )
            else:
                return this

    def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
        this = self._parse_factor(parse_mod=parse_mod)
        while self._match_set(_ADDITIVE):
            node = _ADDITIVE[self._prev.token_type]
            this = self.expression(node(this=this, expression=self._parse_factor(parse_mod=parse_mod)))
        return this


class WeftGenerator(SparkGenerator):
    pass


class Weft(Spark):
    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = WeftParser
    Generator = WeftGenerator


def parser(text: Text) -> WeftParser:
    """A parser for tokens of this text."""
    made = WeftParser(dialect=Weft())
    made.text = text
    return made
