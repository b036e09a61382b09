"""The rows of a batch that relations are made of, evaluated by the kernels instead of Spark."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from weft.kernels.arrow import whole
from weft.kernels.expressions import compile
from weft.share.nodes import StreamPlan


def taken_in(plan: StreamPlan, rows: pa.Table) -> pa.Table:
    """What level 1 hands on of these rows."""
    assert plan.intake is not None
    types = {column.name: column.type for column in plan.stream.columns if column.type}
    columns = {name: whole(rows.column(name)) for name in rows.column_names}

    def value(tree: exp.Expr) -> pa.Array:
        compiled = compile(_plain(tree), types)
        assert compiled is not None, tree
        return compiled.run(columns)[0]

    table = pa.table({item.name: value(item.expr.tree) for item in plan.intake.items})
    where = plan.intake.where
    return table if where is None else table.filter(value(where.tree).fill_null(False))


def _plain(tree: exp.Expr) -> exp.Expr:
    """Arithmetic as it was before it was made safe: the rows here make nothing of it fail."""
    operators = {"TRY_ADD": exp.Add, "TRY_SUBTRACT": exp.Sub, "TRY_MULTIPLY": exp.Mul}

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.upper() in operators:
            left, right = node.expressions
            made = operators[node.name.upper()]
            return made(this=left.transform(visit), expression=right.transform(visit))
        return node

    return tree.transform(visit)
