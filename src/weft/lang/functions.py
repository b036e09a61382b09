"""Which calls get a node of their own; every other call keeps its name and arguments as they were written.

sqlglot knows hundreds of functions and rewrites many of them for other engines: `log10(x)` to `LOG(10, x)`,
`named_struct` to `STRUCT`, `date_trunc` to another order of arguments. Spark would then compute something
else. So only the calls in this table become nodes of a class of their own, each with the number of arguments
Spark takes; the rest, and those with a wrong number of arguments, are `exp.Anonymous`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

Builder = Callable[[list[exp.Expr]], exp.Expr]

ANY_NUMBER = 1_000


@dataclass(frozen=True, slots=True)
class Typed:
    """A node class, and the least and greatest number of arguments."""

    node: type[exp.Expression]
    least: int = 1
    most: int = 1


TYPED: dict[str, Typed] = {
    # aggregates
    "COUNT": Typed(exp.Count, 1, ANY_NUMBER),
    "COUNT_IF": Typed(exp.CountIf),
    "SUM": Typed(exp.Sum),
    "AVG": Typed(exp.Avg),
    "MEAN": Typed(exp.Avg),
    "MIN": Typed(exp.Min),
    "MAX": Typed(exp.Max),
    "VAR_POP": Typed(exp.VariancePop),
    "VAR_SAMP": Typed(exp.Variance),
    "VARIANCE": Typed(exp.Variance),
    "STDDEV_POP": Typed(exp.StddevPop),
    "STDDEV_SAMP": Typed(exp.StddevSamp),
    "STDDEV": Typed(exp.StddevSamp),
    "STD": Typed(exp.StddevSamp),
    "BOOL_AND": Typed(exp.LogicalAnd),
    "EVERY": Typed(exp.LogicalAnd),
    "BOOL_OR": Typed(exp.LogicalOr),
    "ANY": Typed(exp.LogicalOr),
    "SOME": Typed(exp.LogicalOr),
    "MIN_BY": Typed(exp.ArgMin, 2, 2),
    "MAX_BY": Typed(exp.ArgMax, 2, 2),
    "APPROX_COUNT_DISTINCT": Typed(exp.ApproxDistinct, 1, 2),
    "APPROX_PERCENTILE": Typed(exp.ApproxQuantile, 2, 3),
    "PERCENTILE_APPROX": Typed(exp.ApproxQuantile, 2, 3),
    # scalars
    "ABS": Typed(exp.Abs),
    "CEIL": Typed(exp.Ceil, 1, 2),
    "CEILING": Typed(exp.Ceil, 1, 2),
    "FLOOR": Typed(exp.Floor, 1, 2),
    "ROUND": Typed(exp.Round, 1, 2),
    "SQRT": Typed(exp.Sqrt),
    "EXP": Typed(exp.Exp),
    "LN": Typed(exp.Ln),
    "POWER": Typed(exp.Pow, 2, 2),
    "POW": Typed(exp.Pow, 2, 2),
    "SIGN": Typed(exp.Sign),
    "SIGNUM": Typed(exp.Sign),
    "COALESCE": Typed(exp.Coalesce, 1, ANY_NUMBER),
    "NVL": Typed(exp.Coalesce, 2, 2),
    "IFNULL": Typed(exp.Coalesce, 2, 2),
    "NULLIF": Typed(exp.Nullif, 2, 2),
    "LEAST": Typed(exp.Least, 2, ANY_NUMBER),
    "GREATEST": Typed(exp.Greatest, 2, ANY_NUMBER),
    "ISNAN": Typed(exp.IsNan),
    "SUBSTRING": Typed(exp.Substring, 2, 3),
    "SUBSTR": Typed(exp.Substring, 2, 3),
    "TRIM": Typed(exp.Trim),
    "UPPER": Typed(exp.Upper),
    "UCASE": Typed(exp.Upper),
    "LOWER": Typed(exp.Lower),
    "LCASE": Typed(exp.Lower),
    "LENGTH": Typed(exp.Length),
    "CHAR_LENGTH": Typed(exp.Length),
    "CHARACTER_LENGTH": Typed(exp.Length),
    "CURRENT_TIMESTAMP": Typed(exp.CurrentTimestamp, 0, 0),
    "NOW": Typed(exp.CurrentTimestamp, 0, 0),
    "CURRENT_DATE": Typed(exp.CurrentDate, 0, 0),
    "CURDATE": Typed(exp.CurrentDate, 0, 0),
}

# With three arguments the first of these names a unit of time: DATEADD(DAY, 1, ts).
UNIT_FIRST = ("DATEADD", "DATE_ADD", "TIMESTAMPADD", "DATEDIFF", "DATE_DIFF", "TIMESTAMPDIFF", "TIMEDIFF")

POSITIONAL: dict[str, type[exp.AggFunc]] = {
    "FIRST": exp.First,
    "FIRST_VALUE": exp.First,
    "LAST": exp.Last,
    "LAST_VALUE": exp.Last,
}


def _typed(name: str, typed: Typed) -> Builder:
    def build(args: list[exp.Expr]) -> exp.Expr:
        if not typed.least <= len(args) <= typed.most or any(isinstance(arg, exp.Kwarg) for arg in args):
            return exp.Anonymous(this=name, expressions=args)
        if typed.node is exp.Count:
            return exp.Count(this=args[0], expressions=args[1:], big_int=True)
        if typed.node in (exp.Least, exp.Greatest):
            return typed.node(this=args[0], expressions=args[1:], ignore_nulls=True)
        return typed.node.from_arg_list(args)  # type: ignore[attr-defined, no-any-return]

    return build


def _positional(name: str, node: type[exp.AggFunc]) -> Builder:
    def build(args: list[exp.Expr]) -> exp.Expr:
        """FIRST(x, true) and FIRST(x) IGNORE NULLS are one and the same."""
        if len(args) == 1:
            return node(this=args[0])
        if len(args) == 2 and isinstance(args[1], exp.Boolean):
            return exp.IgnoreNulls(this=node(this=args[0])) if args[1].this else node(this=args[0])
        return exp.Anonymous(this=name, expressions=args)

    return build


def _unit_first(name: str) -> Builder:
    def build(args: list[exp.Expr]) -> exp.Expr:
        first = args[0] if len(args) == 3 else None
        if isinstance(first, exp.Column) and not first.table:
            args = [exp.var(first.name.upper()), *args[1:]]
        return exp.Anonymous(this=name, expressions=args)

    return build


BUILDERS: dict[str, Builder] = {
    **{name: _typed(name, typed) for name, typed in TYPED.items()},
    **{name: _positional(name, node) for name, node in POSITIONAL.items()},
    **{name: _unit_first(name) for name in UNIT_FIRST},
    "IF": exp.If.from_arg_list,
}
