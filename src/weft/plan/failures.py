"""When an expression fails on a row, as an expression; and the same expression made so that it does not.

    a / b    safe: TRY_DIVIDE(a, b)    failing: NOT b IS NULL AND NOT a IS NULL AND TRY_DIVIDE(a, b) IS NULL

Spark (ANSI) evaluates from left to right and only what it needs: a branch of CASE that is not taken, the
right side of AND when the left is false, the right side of + when the left is null do not fail. Functions
that are not known here are taken not to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.conversions import written_out
from weft.plan.guarded import Guarded, Step, Tree, any_of, in_order, is_null, ladder
from weft.plan.raising import comparable, raising
from weft.plan.types import infer

Columns = Mapping[str, str | None]
Guard = Callable[[Tree], Guarded]

_LEAVES = (
    exp.Column,
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.Interval,
    exp.DataType,
    exp.Var,
    exp.Identifier,
)


@dataclass(frozen=True, slots=True)
class Sound:
    """An expression made so that it does not fail."""

    value: Expr  # NULL where it would
    fails: Expr | None  # true of exactly those rows on which it would; None: there can be none


def sound(expression: Expr, columns: Columns) -> Sound:
    """`expression` made so that it does not fail, and when it would have."""
    made = _guarded(expression.tree, columns)
    value = expression if made.value is expression.tree else expr(made.value, expression.place)
    return Sound(value, None if made.fails is None else expr(made.fails, expression.place))


def safe(expression: Expr, columns: Columns) -> Expr:
    """`expression` with NULL where it would fail."""
    return sound(expression, columns).value


def failing(expression: Expr, columns: Columns) -> Expr | None:
    """True of exactly those rows on which `expression` fails; None when there can be none."""
    return sound(expression, columns).fails


def _guarded(tree: Tree, columns: Columns) -> Guarded:
    if isinstance(tree, _LEAVES) or tree.find(exp.Lambda) is not None:
        return Guarded(tree)

    def guard(part: Tree) -> Guarded:
        return _guarded(part, columns)

    def type_of(part: Tree) -> str | None:
        return infer(part, columns) if isinstance(part, exp.Expression) else None

    converted = written_out(tree, type_of)
    if converted is not tree:
        return guard(converted)
    match tree:
        case exp.Paren():
            return guard(tree.this)
        case exp.And() | exp.Or():
            return _connected(tree, guard)
        case exp.Case():
            return _case(tree, guard)
        case exp.If():
            return _rebuilt(
                tree, guard, _branches([(tree.this, tree.args["true"])], tree.args.get("false"), guard)
            )
        case exp.Coalesce():
            return _rebuilt(tree, guard, _coalesced([tree.this, *tree.expressions], guard))
        case exp.In() if not tree.args.get("query"):
            return _rebuilt(tree, guard, _listed(tree, guard))
        case exp.Between():
            return _between(tree, guard)
        case exp.Nullif():
            return _rebuilt(tree, guard, _compared(guard(tree.this), guard(tree.expression)))
        case exp.Anonymous() if tree.name.lower() == "nvl2" and len(tree.expressions) == 3:
            first, second, third = tree.expressions
            steps = [(_not_null(first), second)]
            return _rebuilt(tree, guard, _branches(steps, third, guard))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            left, right = comparable(tree, guard, type_of)
            return Guarded(_over(tree, left.value, right.value), _compared(left, right))
    found = raising(tree, guard, type_of)
    return found or _rebuilt(tree, guard, any_of(guard(part).fails for part in _parts(tree)))


def _connected(tree: exp.Connector, guard: Guard) -> Guarded:
    """AND goes on to its right side unless the left is false, OR unless it is true."""
    left, right = guard(tree.left), guard(tree.right)
    settled = exp.Not(this=left.value.copy()) if isinstance(tree, exp.And) else left.value
    steps = [*_fails_first(left), (settled, None)]
    return _rebuilt(tree, guard, ladder(steps, right.fails))


def _case(tree: exp.Case, guard: Guard) -> Guarded:
    ifs = [(branch.this, branch.args["true"]) for branch in tree.args["ifs"]]
    if tree.this is not None:
        ifs = [(exp.EQ(this=tree.this.copy(), expression=value.copy()), result) for value, result in ifs]
    return _rebuilt(tree, guard, _branches(ifs, tree.args.get("default"), guard))


def _branches(ifs: list[tuple[Tree, Tree]], default: Tree | None, guard: Guard) -> Tree | None:
    steps: list[Step] = []
    for condition, result in ifs:
        tested = guard(condition)
        steps += [*_fails_first(tested), (tested.value, guard(result).fails)]
    return ladder(steps, None if default is None else guard(default).fails)


def _coalesced(args: list[Tree], guard: Guard) -> Tree | None:
    steps: list[Step] = []
    for arg in args:
        tried = guard(arg)
        steps += [*_fails_first(tried), (_not_null(tried.value), None)]
    return ladder(steps, None)


def _listed(tree: exp.In, guard: Guard) -> Tree | None:
    """IN looks through its list until it finds the value."""
    value = guard(tree.this)
    steps: list[Step] = [*_fails_first(value), (is_null(value.value), None)]
    for item in tree.expressions:
        tried = guard(item)
        found = exp.EQ(this=value.value.copy(), expression=tried.value.copy())
        steps += [*_fails_first(tried), (found, None)]
    return ladder(steps, None)


def _between(tree: exp.Between, guard: Guard) -> Guarded:
    """It is `this >= low AND this <= high`, and written so where something of it had to change."""
    low = exp.GTE(this=tree.this.copy(), expression=tree.args["low"].copy())
    high = exp.LTE(this=tree.this.copy(), expression=tree.args["high"].copy())
    both = exp.And(this=low, expression=high)
    guarded = guard(both)
    return Guarded(tree) if guarded.value is both and guarded.fails is None else guarded


def _compared(left: Guarded, right: Guarded) -> Tree | None:
    return in_order([left, right], None)


def _over(tree: exp.Binary, left: Tree, right: Tree) -> Tree:
    if left is tree.left and right is tree.right:
        return tree
    return type(tree)(this=left.copy(), expression=right.copy())


def _fails_first(guarded: Guarded) -> list[Step]:
    return [] if guarded.fails is None else [(guarded.fails, exp.true())]


def _not_null(tree: Tree) -> Tree:
    return exp.Not(this=is_null(tree))


def _parts(tree: Tree) -> Iterator[Tree]:
    for value in tree.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield part


def _rebuilt(tree: Tree, guard: Guard, fails: Tree | None) -> Guarded:
    """`tree` with safe parts; the very same tree when they were safe already."""
    made = {id(part): guard(part).value for part in _parts(tree)}
    if all(made[id(part)] is part for part in _parts(tree)):
        return Guarded(tree, fails)

    def copied(value: object) -> object:
        if isinstance(value, list):
            return [copied(part) for part in value]
        return made[id(value)].copy() if id(value) in made else value

    return Guarded(type(tree)(**{key: copied(value) for key, value in tree.args.items()}), fails)
