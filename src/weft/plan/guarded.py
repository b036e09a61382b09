"""An expression and when it fails, and how these are put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

Tree = exp.Expr
Step = tuple[Tree, Tree | None]


@dataclass(frozen=True, slots=True)
class Guarded:
    """`value` never fails; `fails` is true where the expression it stands for does (None: nowhere)."""

    value: Tree
    fails: Tree | None = None


def ladder(steps: Iterable[Step], last: Tree | None) -> Tree | None:
    """The outcome of the first step whose condition is true, else `last`; None stands for FALSE.

    All outcomes FALSE but the last: a conjunction says it more simply than CASE.
    """
    rungs = list(steps)
    while rungs and last is None:
        condition, outcome = rungs.pop()
        last = condition if outcome == exp.true() else outcome and exp.and_(condition, outcome)
    if not rungs:
        return last
    if all(outcome is None for _, outcome in rungs) and last is not None:
        return exp.and_(*(opposite(condition) for condition, _ in rungs), last.copy(), copy=False)
    ifs = [exp.If(this=condition.copy(), true=_outcome(outcome)) for condition, outcome in rungs]
    return exp.Case(ifs=ifs, default=_outcome(last))


def _outcome(tree: Tree | None) -> Tree:
    return exp.false() if tree is None else tree.copy()


def in_order(operands: Sequence[Guarded], own: Tree | None) -> Tree | None:
    """When an operator fails that evaluates its operands in this order and stops at the first null.

    `own` is when it fails by itself on operands that are not null.
    """
    if own is None and all(operand.fails is None for operand in operands):
        return None
    steps: list[Step] = []
    for operand in operands:
        if operand.fails is not None:
            steps.append((operand.fails, exp.true()))
        if not isinstance(operand.value, exp.Literal | exp.Boolean):
            steps.append((is_null(operand.value), None))
    return ladder(steps, own)


def any_of(fails: Iterable[Tree | None]) -> Tree | None:
    """True where one of them is."""
    found = [tree.copy() for tree in fails if tree is not None]
    return exp.or_(*found, copy=False) if found else None


def is_null(tree: Tree) -> Tree:
    return exp.Is(this=tree.copy(), expression=exp.Null())


def opposite(condition: Tree) -> Tree:
    """NOT, for a condition that is a step: where it is null it does not hold."""
    if isinstance(condition, exp.Is):
        return exp.Not(this=condition.copy())
    negated = condition.this.copy() if isinstance(condition, exp.Not) else exp.Not(this=condition.copy())
    return exp.func("COALESCE", negated, exp.true())


def call(name: str, *args: Tree) -> Tree:
    """A function call, under the name Spark gives it."""
    return exp.Anonymous(this=name, expressions=[arg.copy() for arg in args])


def number(value: int) -> Tree:
    return exp.Literal.number(value)


def only_if(condition: Tree, value: Tree) -> Tree:
    """`value` where `condition` is true, else NULL; there it is not evaluated."""
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
