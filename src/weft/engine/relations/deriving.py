"""What is asked of rows that were taken in before anyone asked it: made of their columns by the kernels.

in the log        k, v                        of all rows
a new query       k, v > 7, of those WHERE v > 7
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

import pyarrow as pa

from weft.kernels.arrow import whole
from weft.kernels.expressions import compile
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.relations import Rows
from weft.plan.scope import column, names_in
from weft.share.intakes import CONDITION

Types = Mapping[str, str]  # of the columns of a stream


class Deriving:
    """The columns that leaves of one stream ask for, where the kernels can make them of others."""

    def __init__(self, leaves: Iterable[Rows], types: Types) -> None:
        asked = {name: source for leaf in leaves for name, source in asks(leaf).items()}
        made = {name: (_needs(source), compile(source.tree, types)) for name, source in asked.items()}
        self._made = {name: (needs, how) for name, (needs, how) in made.items() if how is not None}

    def filled(self, rows: pa.Table) -> pa.Table:
        """A batch with what it lacks of them. Expressions of leaves cannot fail."""
        known = set(rows.column_names)
        for name, (needs, how) in self._made.items():
            if name not in known and needs.keys() <= known:
                values, _ = how.run({each: whole(rows.column(text)) for text, each in needs.items()})
                rows = rows.append_column(name, values)
        return rows


def asks(leaf: Rows) -> dict[str, Expr]:
    """The columns of a batch that a leaf asks for, by name."""
    found = {item.expr.sql: item.expr for item in leaf.items}
    return found if leaf.where is None else found | {CONDITION + leaf.where.sql: leaf.where}


def can_be_made(source: Expr, known: Set[str], types: Types) -> bool:
    """Can an expression be made of columns that are known by their texts?"""
    return _needs(source).keys() <= known and compile(source.tree, types) is not None


def _needs(source: Expr) -> dict[str, str]:
    """The columns that it is about: their texts, by which batches have them, and names."""
    return {expr(column(name)).sql: name for name in names_in(source)}
