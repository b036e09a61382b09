"""What is asked of rows that were taken in before anyone asked it: made of their columns by the kernels.

in the log        k, v                        of all rows
a new query       k, v > 7, of those WHERE v > 7
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

import pyarrow as pa

from weft.kernels.arrow import whole
from weft.kernels.expressions import Compiled, compile
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.relations import Rows
from weft.plan.scope import column, names_in
from weft.share.intakes import CONDITION

Types = Mapping[str, str]  # of the columns of a stream


class Deriving:
    """The columns that leaves of one stream ask for, where the kernels can make them of others."""

    def __init__(self, leaves: Iterable[Rows], types: Types) -> None:
        self._asked = {name: source for leaf in leaves for name, source in asks(leaf).items()}
        self._types = types
        self._compiled: dict[str, Compiled | None] = {}

    def filled(self, rows: pa.Table) -> pa.Table:
        """A batch with what it lacks of them. Expressions of leaves cannot fail."""
        known = set(rows.column_names)
        for name in self._asked.keys() - known:
            needs = _needs(self._asked[name])
            if needs.keys() <= known and (how := self._how(name)) is not None:
                columns = {each: whole(rows.column(text)) for text, each in needs.items()}
                values, _ = how.run(columns or {"": pa.nulls(rows.num_rows)})
                rows = rows.append_column(name, values)
        return rows

    def _how(self, name: str) -> Compiled | None:
        """What makes a column, compiled for the first batch that lacks it."""
        if name not in self._compiled:
            self._compiled[name] = compile(self._asked[name].tree, self._types)
        return self._compiled[name]


def asks(leaf: Rows) -> dict[str, Expr]:
    """The columns of a batch that a leaf asks for, by name."""
    found = {item.expr.sql: item.expr for item in leaf.items}
    return found if leaf.where is None else found | {CONDITION + leaf.where.sql: leaf.where}


def made_of(source: Expr, known: Set[str], types: Types) -> Compiled | None:
    """What makes an expression of columns that are known by their texts; None: nothing does."""
    return compile(source.tree, types) if _needs(source).keys() <= known else None


def _needs(source: Expr) -> dict[str, str]:
    """The columns that it is about: their texts, by which batches have them, and names."""
    return {expr(column(name)).sql: name for name in names_in(source)}
