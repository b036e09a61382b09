"""Signatures as Spark evaluates them: one expression a row, each condition once."""

from __future__ import annotations

from sqlglot import exp

from weft.kernels.picks import COVERS
from weft.lang.dialect import Weft
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.share.signatures import Signature


def signature_sql(signature: Signature) -> str:
    """The signature of a row: a bit for each condition that is true of it."""
    bits = (
        f"CASE WHEN {expr(condition).sql} THEN {_whole(1 << bit)} ELSE {_whole(0)} END"
        for bit, condition in enumerate(signature.key.tree.expressions)
    )
    return f"({' + '.join(bits)})"


def covers_sql(condition: Expr) -> str:
    """A condition in which masks are looked for in signatures that are columns."""

    def compared(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Anonymous) or node.name != COVERS:
            return node
        column, *masks = node.expressions
        found = (_has_all(column, int(mask.name)) for mask in masks)
        return exp.paren(exp.or_(*found))

    return condition.tree.transform(compared).sql(dialect=Weft)


def _has_all(column: exp.Expr, mask: int) -> exp.Expr:
    bits = exp.cast(exp.Literal.number(mask), "bigint")
    return exp.EQ(this=exp.paren(exp.BitwiseAnd(this=column.copy(), expression=bits)), expression=bits.copy())


def _whole(number: int) -> str:
    return f"CAST({number} AS BIGINT)"
