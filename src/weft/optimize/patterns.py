"""Plans that differ in the constants of WHERE alone are optimized once, with marks in place of the constants.

    Filter key = 5 AND live, Filter key = 7 AND live      once: Filter key = 2000000000 AND live

No rule looks at the value of a constant that a column is compared with, but for one: operands are sorted by
their text. So the plan holds for other constants where the texts differ before the constants do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from weft.lang.expressions import expr
from weft.lang.patterns import Constant, Filled, Pattern, literals
from weft.lang.statements import Expr
from weft.optimize.conditions import bare_conjuncts
from weft.plan.nodes import Filter, Plan
from weft.plan.tree import rewrite_up, walk

_FIRST = 2_000_000_000  # an integer that fits 32 bits, as do some after it
_MOST = 10  # constants that can be told apart by one digit


@dataclass(frozen=True, slots=True)
class Optimized:
    """A plan that is optimized, up to the constants of its filter."""

    plan: Plan
    filter: Filter
    pattern: Pattern

    def fill(self, where: Filled) -> Plan:
        predicate = self.pattern.fill(where.constants, lambda: where.place)

        def change(node: Plan) -> Plan:
            return replace(self.filter, predicate=predicate) if node is self.filter else node

        return rewrite_up(self.plan, change)


def filled_in(plan: Plan) -> Filled | None:
    """The condition of a plan that is of a pattern."""
    found = (node.predicate for node in walk(plan) if isinstance(node, Filter))
    return next((one for one in found if isinstance(one, Filled)), None)


def optimized(plan: Plan, where: Filled, optimize: Callable[[Plan], Plan]) -> Optimized | None:
    """The plan optimized for any constants in `where`, its condition; None: its form depends on them."""
    if len(where.constants) > _MOST:
        return None
    marks = [_mark(one, at) for at, one in enumerate(where.constants)]
    marked = expr(where.pattern.tree(marks))

    def mark(node: Plan) -> Plan:
        match node:
            case Filter(predicate=predicate) if predicate is where:
                return replace(node, predicate=marked)
            case _:
                return node

    made = optimize(rewrite_up(plan, mark))
    holding = [node for node in walk(made) if isinstance(node, Filter) and _places(node.predicate, marks)]
    if len(holding) != 1 or not _keeps_order(holding[0].predicate, marks):
        return None
    return Optimized(made, holding[0], Pattern(holding[0].predicate, _places(holding[0].predicate, marks)))


def _mark(constant: Constant, at: int) -> Constant:
    """A constant of the same type that stands for it."""
    if constant.is_string:
        return Constant(f"\ue000{at}", True)
    whole, point, fraction = constant.text.partition(".")
    if point:
        return Constant(f"{'9' * len(whole)}.{'8' * (len(fraction) - 1)}{at}", False)
    return Constant(str(_FIRST + at), False)


def _places(source: Expr, marks: list[Constant]) -> list[int]:
    """Where the marks stand among the literals; none if one is not there once."""
    texts = [(one.this, one.is_string) for one in literals(source.tree)]
    wanted = [(mark.text, mark.is_string) for mark in marks]
    return [texts.index(mark) for mark in wanted] if all(texts.count(mark) == 1 for mark in wanted) else []


def _keeps_order(predicate: Expr, marks: list[Constant]) -> bool:
    """Whether operands stand as they do whatever the constants are."""
    texts = [expr(part).sql for part in bare_conjuncts(predicate)]
    for mark in marks:
        before = [text.removesuffix(mark.sql) for text in texts if text.endswith(mark.sql)]
        if len(before) != 1 or sum(text.startswith(before[0]) for text in texts) > 1:
            return False
    return True
