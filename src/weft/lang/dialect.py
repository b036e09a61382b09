"""Spark's SQL plus windows in brackets, as a sqlglot dialect.

It departs from sqlglot's Spark dialect where that one serves translation to other engines and would change
what Spark computes: calls keep their names (see `functions`), CAST is strict as in ANSI mode, operators have
Spark's precedence, so that the tree means what Spark would read.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import rename_func
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import RunError
from weft.lang.functions import BUILDERS
from weft.lang.names import may_need_quotes, needs_quotes, quoted
from weft.lang.sourceparser import SourceParser
from weft.lang.text import Text

WRITTEN = "written"  # where a type keeps its tokens, in `meta`, until they are checked

# Calls with words between their arguments; without these words they are calls like any other.
_WORDED = {
    "TRIM": ("FROM", "BOTH", "LEADING", "TRAILING"),
    "SUBSTRING": ("FROM", "FOR"),
    "SUBSTR": ("FROM", "FOR"),
    "POSITION": ("IN",),
    "OVERLAY": ("PLACING",),
}
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
_CAST_LIKE = ("CAST", "TRY_CAST", "EXTRACT")
_COMPARISONS = SparkParser.EQUALITY | SparkParser.COMPARISON
_ADDITIVE: dict[TokenType, type[exp.Expression]] = {
    TokenType.PLUS: exp.Add,
    TokenType.DASH: exp.Sub,
    TokenType.DPIPE: exp.DPipe,
}
_BITS = ((TokenType.PIPE, exp.BitwiseOr), (TokenType.CARET, exp.BitwiseXor), (TokenType.AMP, exp.BitwiseAnd))


def _only(table: dict[TokenType, Any], *names: str) -> dict[TokenType, Any]:
    return {TokenType[name]: table[TokenType[name]] for name in names}


class SyntaxTrouble(ParseError):
    """What sqlglot's parser found wrong, and the token where it did (None: at the end)."""

    def __init__(self, message: str, token: Token | None) -> None:
        super().__init__(message)
        self.token = token


def _parse_worded(parser: WeftParser, name: str) -> exp.Expr:
    """A call whose bracket has been opened, with words between its arguments or without."""
    if parser.has_word_before_bracket(_WORDED[name]):
        worded: exp.Expr = SparkParser.FUNCTION_PARSERS[name](parser)
        return worded
    args = parser._parse_function_args()
    builder = BUILDERS.get(name)
    return builder(args) if builder else exp.Anonymous(this=name, expressions=args)


class WeftParser(SourceParser):
    STRICT_CAST = True

    # Of the operators sqlglot knows only those that Spark has too.
    ASSIGNMENT: ClassVar[dict[TokenType, Any]] = {}
    BRACKETS: ClassVar[frozenset[TokenType]] = frozenset({TokenType.L_BRACKET})
    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {}
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = _only(SparkParser.COLUMN_OPERATORS, "DOT", "DCOLON")
    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = _only(SparkParser.UNARY_PARSERS, "DASH", "TILDE")
    FACTOR: ClassVar[dict[TokenType, Any]] = _only(SparkParser.FACTOR, "DIV", "MOD", "SLASH", "STAR")
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = _only(
        SparkParser.RANGE_PARSERS, "BETWEEN", "ILIKE", "IN", "IS", "LIKE", "RLIKE"
    )
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}  # `array(1, 2)[0]` is an element, not a list of one
    FUNCTIONS: ClassVar[dict[str, Any]] = BUILDERS
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        **{name: SparkParser.FUNCTION_PARSERS[name] for name in _CAST_LIKE},
        **{name: partial(_parse_worded, name=name) for name in _WORDED},
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
    }

    def raise_error(self, message: str, token: Token | None = None) -> None:
        raise SyntaxTrouble(message, token or (self._curr if self._curr else None))

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if this is None and self._curr.token_type == TokenType.L_BRACKET:
            self.raise_error("An array is written array(1, 2, 3)")
        return super()._parse_bracket(this)

    # groupings: keys are any expressions, and have places

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        group = super()._parse_group(skip_group_by_token)
        after_with = [*group.args.get("rollup", ()), *group.args.get("cube", ())] if group else []
        if after_with and self._prev.token_type not in (TokenType.ROLLUP, TokenType.CUBE):
            self.raise_error("GROUP BY ends with WITH ROLLUP or WITH CUBE", self._prev)
        if len(after_with) > 1:
            self.raise_error("GROUP BY ends with one WITH ROLLUP or WITH CUBE", self._prev)
        return group

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> Any:
        if with_prefix:
            return super()._parse_cube_or_rollup(with_prefix)
        kinds = {TokenType.CUBE: exp.Cube, TokenType.ROLLUP: exp.Rollup}
        return self._parse_grouping(kinds, self._parse_disjunction)

    def _parse_grouping_sets(self) -> Any:
        return self._parse_grouping({TokenType.GROUPING_SETS: exp.GroupingSets}, self._parse_grouping_set)

    def _parse_grouping_set(self) -> exp.Expr | None:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_grouping(self, kinds: dict[TokenType, Any], parse: Any) -> exp.Expr | None:
        def grouping() -> exp.Expr | None:
            if not self._match_set(kinds):
                return None
            word = self._prev
            parts = self._parse_wrapped_csv(parse)
            if not parts:
                self.raise_error(f"No keys are named in {word.text.upper()}", word)
            made: exp.Expr = self.expression(kinds[word.token_type](expressions=parts))
            return made

        found: exp.Expr | None = self._spanned(grouping)
        return found

    # what sqlglot lets pass and Spark does not

    def _parse_csv(self, parse_method: Any, sep: TokenType = TokenType.COMMA) -> list[Any]:
        items = [parse_method()]
        while self._match(sep):
            items.append(parse_method())
            if items[-1] is None:
                self.raise_error("Expected an expression after the comma")
        return [item for item in items if item is not None]

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        found = super()._parse_in(this, alias)
        if not found.expressions and not found.args.get("query"):
            self.raise_error("IN is followed by values in parentheses", self._prev)
        return found

    def _parse_where(self, skip_where_token: bool = False) -> exp.Where | None:
        if skip_where_token and self._prev.token_type != TokenType.WHERE:
            self.raise_error("FILTER takes a condition behind WHERE")
        return super()._parse_where(skip_where_token)

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        if self._match(TokenType.JSON, advance=False):
            self.raise_error("IS JSON is not Spark's")
        return super()._parse_is(this)

    def _parse_is_rhs(self, distinct: bool = False) -> exp.Expr | None:
        found = super()._parse_is_rhs(distinct)
        if not distinct and not isinstance(found, exp.Null | exp.Boolean):
            self.raise_error(
                "IS is followed by [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM", self._prev
            )
        return found

    def _parse_disjunction(self) -> exp.Expr | None:
        found: exp.Expr | None = self._spanned(super()._parse_disjunction)
        return found

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        call = super()._parse_function_call
        found: exp.Expr | None = self._spanned(lambda: call(*args, **kwargs))
        return found

    def has_word_before_bracket(self, words: tuple[str, ...]) -> bool:
        """Whether one of the words stands before the bracket that closes here, outside of inner brackets."""
        depth = 0
        for token in self._tokens[self._index :]:
            depth += 1 if token.token_type in _OPENING else -1 if token.token_type in _CLOSING else 0
            if depth < 0:
                return False
            if depth == 0 and token.token_type != TokenType.STRING and token.text.upper() in words:
                return True
        return False

    # Spark's precedence, loosest first: NOT, predicates, comparisons, |, ^, &, shifts, + - ||, * / %, unary

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        if self._match(TokenType.NOT):
            return self.expression(exp.Not(this=self._parse_equality()))
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

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        start = self._index
        found = super()._parse_types(*args, **kwargs)
        if isinstance(found, exp.DataType) and not self._is_suffixed(start - 2):
            found.meta[WRITTEN] = self._tokens[start : self._index]
        return found

    def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
        return this

    def _parse_factor_operand(self) -> exp.Expr | None:
        this = self._parse_unary()
        while self._match(TokenType.COLLATE):
            this = self.expression(exp.Collate(this=this, expression=self._parse_var(any_token=True)))
        return this

    def _parse_unary(self) -> exp.Expr | None:
        if self._match(TokenType.PLUS):
            operand = self._parse_unary()  # of a string it makes a number, so it is not dropped
            if isinstance(operand, exp.Literal) and not operand.is_string:
                return operand
            return self.expression(exp.Anonymous(this="POSITIVE", expressions=[operand]))
        with_suffix = self._curr.token_type == TokenType.DASH and self._is_suffixed(self._index + 1)
        this = super()._parse_unary()
        if with_suffix and isinstance(this, exp.Neg) and isinstance(this.this, exp.Cast):
            return _sign_inside(this.this)
        return this

    def _is_suffixed(self, index: int) -> bool:
        """Whether a literal such as `128Y` stands there: the tokenizer makes it `128 :: Y` in one place."""
        number, cast = self._tokens[index : index + 1], self._tokens[index + 1 : index + 2]
        return bool(number and cast) and number[0].token_type == TokenType.NUMBER and (
            cast[0].token_type == TokenType.DCOLON and cast[0].start == number[0].start
        )  # fmt: skip


def _sign_inside(cast: exp.Cast) -> exp.Expr:
    """-128Y is the least TINYINT, while 128Y is none: the sign belongs to the number that is cast."""
    number = cast.this
    if isinstance(number, exp.Literal) and not number.is_string:
        cast.set("this", exp.Neg(this=number.copy()))
        return cast
    return exp.Neg(this=cast)


def spelled(identifier: exp.Identifier) -> str:
    """A name in quotes exactly where it needs them; a keyword keeps those it was written with."""
    name = identifier.name
    in_quotes = may_need_quotes(name) if identifier.quoted else needs_quotes(name)
    return quoted(name) if in_quotes else name


class WeftGenerator(SparkGenerator):
    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **SparkGenerator.TRANSFORMS,
        exp.ApproxQuantile: rename_func("APPROX_PERCENTILE"),
        exp.Variance: rename_func("VAR_SAMP"),
        exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
        exp.CurrentDate: lambda self, _: self.func("CURRENT_DATE"),
    }

    def filter_sql(self, expression: exp.Filter) -> str:
        """FILTER comes before IGNORE NULLS, also where FIRST(x, true) was written."""
        if not isinstance(expression.this, exp.IgnoreNulls):
            return super().filter_sql(expression)
        inner = exp.Filter(this=expression.this.this.copy(), expression=expression.expression.copy())
        return f"{super().filter_sql(inner)} IGNORE NULLS"

    def identifier_sql(self, expression: exp.Identifier) -> str:
        return spelled(expression)


class Weft(Spark):
    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = WeftParser
    Generator = WeftGenerator


def parser(text: Text) -> WeftParser:
    """A parser for tokens of this text."""
    try:
        made = WeftParser(dialect=Weft())
    except TypeError as error:  # a compiled class has no subclass that is not
        raise RunError(
            "sqlglot-compiled",
            "this environment has sqlglot's compiled parser, which weft's dialect of SQL cannot extend",
            because=str(error),
            help="`pip uninstall sqlglotc`, or give weft an environment of its own",
        ) from error
    made.text = text
    return made
