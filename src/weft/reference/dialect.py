"""What the two engines that can judge us say differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from weft.lang.statements import Expr
from weft.plan.coercion import decimal_parts, is_decimal
from weft.plan.nodes import Aggregation

Types = Mapping[str, str | None]


class Dialect(Protocol):
    """Fragments of SQL with Spark's meaning."""

    def quote(self, name: str) -> str: ...

    def micros(self, timestamp: str) -> str:
        """A timestamp as whole microseconds since 1970."""

    def instant(self, micros: str) -> str:
        """Whole microseconds since 1970 as a timestamp."""

    def arrival(self) -> str:
        """A number that grows in the order in which rows lie in a history."""

    def exploded(self, source: str, first: str, last: str, step: int, name: str) -> str:
        """Each row of `source` once for every `first, first + step, ... <= last`, its column `name`."""

    def checked(self, source: str, carried: str, wanted: Mapping[str, Expr], types: Types) -> str:
        """The rows of `source` on which no expression fails: the carried columns and the wanted ones."""

    def aggregated(
        self, call: Aggregation, args: Sequence[str], where: Sequence[str], time: str
    ) -> list[str]:
        """Columns of a GROUP BY that hold an aggregate of columns, for `finished` to finish."""

    def finished(self, source: str, carried: str, calls: Sequence[Aggregation]) -> str:
        """The groups with every aggregate under its name, without those whose sum overflows."""


def is_wide_sum(call: Aggregation) -> bool:
    """A sum of decimals that may leave their 38 digits on the way and come back."""
    type_ = call.arg_types[0] if call.arg_types else None
    return call.function == "sum" and type_ is not None and is_decimal(type_) and decimal_parts(type_)[0] > 28
