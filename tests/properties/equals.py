"""Queries rewritten into others that ask the same: what may be said in another way, said so at random."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.lang.statements import CreateQuery, Expr

_MIRRORED = {
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}
_OPPOSITE = {
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
}


def rewritten(rng: Random, sql: str) -> str:
    """A query that asks the same as this one."""
    (statement,) = parse_program(f"CREATE QUERY q AS {sql};")
    assert isinstance(statement, CreateQuery)
    select = statement.select
    keys = select.group_by
    if not select.order_by:  # else ties go by the keys in their order
        keys = tuple(rng.sample(keys, len(keys)))
    said = replace(
        statement,
        select=replace(
            select,
            where=None if select.where is None else _condition(rng, select.where),
            having=None if select.having is None else _condition(rng, select.having),
            group_by=keys,
        ),
    )
    text = print_statement(said)
    return text[text.index("SELECT") :].rstrip("; \n")


def _condition(rng: Random, condition: Expr) -> Expr:
    return expr(_said(rng, condition.tree.copy()))


def _said(rng: Random, tree: exp.Expr) -> exp.Expr:
    made = _otherwise(rng, tree)
    if rng.random() < 0.2:
        made = exp.Not(this=exp.paren(exp.Not(this=exp.paren(made))))
    return exp.paren(made) if rng.random() < 0.3 else made


def _otherwise(rng: Random, tree: exp.Expr) -> exp.Expr:
    match tree:
        case exp.Paren():
            return exp.paren(_said(rng, tree.this))
        case exp.Not():
            return exp.Not(this=exp.paren(_said(rng, tree.this)))
        case exp.And() | exp.Or():
            parts = [exp.paren(_said(rng, part)) for part in (tree.this, tree.expression)]
            left, right = rng.sample(parts, 2) if _is_plain(tree) else parts
            return type(tree)(this=left, expression=right)
        case exp.Between() if _is_plain(tree):
            low = exp.GTE(this=tree.this.copy(), expression=tree.args["low"])
            high = exp.LTE(this=tree.this.copy(), expression=tree.args["high"])
            return exp.And(this=_said(rng, low), expression=_said(rng, high))
        case exp.In() if _is_plain(tree):
            values = [*tree.expressions, rng.choice(tree.expressions).copy()]
            return exp.In(this=tree.this, expressions=rng.sample(values, len(values)))
    return _compared(rng, tree)


def _compared(rng: Random, tree: exp.Expr) -> exp.Expr:
    if type(tree) not in _MIRRORED or not _is_plain(tree):
        return tree
    if rng.random() < 0.5:
        return _MIRRORED[type(tree)](this=tree.expression, expression=tree.this)
    return exp.Not(this=exp.paren(_OPPOSITE[type(tree)](this=tree.this, expression=tree.expression)))


def _is_plain(tree: exp.Expr) -> bool:
    """Whether nothing in it can fail, so that nothing depends on what is asked first."""
    kinds = (exp.Func, exp.Binary, exp.Cast, exp.Unary)
    allowed = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Predicate, exp.Column, exp.Dot)
    return not any(isinstance(node, kinds) and not isinstance(node, allowed) for node in tree.walk())
