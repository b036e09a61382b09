"""Expressions over single rows of a stream: WHERE, group keys, arguments of aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from weft.errors import QueryError
from weft.lang.expressions import place_of
from weft.lang.statements import Expr
from weft.plan.calls import call_problems
from weft.plan.functions import is_aggregate
from weft.plan.mismatch import not_boolean, type_problems
from weft.plan.problems import raise_all
from weft.plan.scope import WINDOW_COLUMNS, Scope
from weft.plan.types import infer


def type_key(stream: str, source: Expr) -> str:
    """How types that Spark tells are filed: the same text may have another type over another stream."""
    return f"{stream}: {source.sql}"


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns that row expressions speak of, and what Spark told of types that we cannot tell."""

    scope: Scope
    told: Mapping[str, str] = field(default_factory=dict)

    def type(self, source: Expr) -> str | None:
        return infer(source.tree, self.scope.types) or self.told_of(source)

    def told_of(self, source: Expr) -> str | None:
        """What Spark told of the type of a row expression."""
        return self.told.get(type_key(self.scope.stream, source))

    def check(self, source: Expr) -> None:
        """Raise what is wrong with the calls and types of a resolved expression."""
        raise_all([*call_problems(source), *type_problems(source, self.scope.types)])

    def check_condition(self, source: Expr, clause: str) -> None:
        """Raise unless it is a condition."""
        self.check(source)
        problem = not_boolean(source, self.type(source), clause)
        if problem is not None:
            raise problem


def refuse_aggregates(source: Expr, code: str, what: str, help: str) -> None:
    """Raise at the first aggregate in the expression."""
    for node in source.tree.walk():
        if is_aggregate(node):
            raise QueryError(code, what, at=place_of(node) or source.place, help=help)


def refuse_window_columns(source: Expr, where: str, help: str) -> None:
    """Raise at the first use of window_start or window_end, which only answers have."""
    for node in source.tree.find_all(exp.Column):
        if node.name in WINDOW_COLUMNS:
            raise QueryError(
                "window-column",
                f"`{node.name}` cannot stand in {where}",
                at=place_of(node) or source.place,
                because="it is a column of the answer, not of the rows",
                help=help,
            )
