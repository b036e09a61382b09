"""Signatures as Spark and the kernels evaluate them, and the rows that are no cells."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.spark.plans import TRADES, feed, partial, plan, stream
from tests.spark.test_level1 import batch, cells
from weft.engine.rowcells import row_cells
from weft.engine.rowscan import compile_scan
from weft.lang.parse import parse_expression
from weft.share.nodes import Op, StreamPlan
from weft.share.signatures import MOST, covering, signature_of
from weft.spark.level1 import collect, level1, small_rows
from weft.spark.signatures import signature_sql

pytestmark = pytest.mark.spark

WHERES = ["price > 50", "qty % 2 = 0", "symbol <> 'X'"]
ROWS = [
    ("A", 60.0, 2, 0),
    ("X", 60.0, 2, 0),
    (None, 60.0, 2, 0),  # whether it is another symbol is not known
    ("A", None, 2, 1),
    ("A", 10.0, 1, 1),
    (None, None, None, 2),
    ("B", 70.0, 4, 3_000_000),
]


def made(*masks: int, more: str = "") -> StreamPlan:
    """Rows counted by signature; those with the bits of a mask are wanted."""
    signature = signature_of(map(parse_expression, WHERES))
    assert signature is not None
    wanted = covering(signature.key, masks).sql + more
    by = feed([signature.key.sql], partial(Op.COUNT), types=["bigint"])
    return plan(stream(TRADES), by, wanted=wanted)


@pytest.mark.parametrize(
    ("masks", "more", "found"),
    [
        ([0b001], "", {(0.0, 7): 1, (0.0, 3): 2, (3.0, 7): 1}),
        ([0b101, 0b110], "", {(0.0, 7): 1, (0.0, 6): 1, (3.0, 7): 1}),
        ([0b111], " OR qty = 1", {(0.0, 7): 1, (0.0, 4): 1, (3.0, 7): 1}),
    ],
)
def test_rows_by_signature_however_they_are_read(
    masks: list[int], more: str, found: dict[tuple[float, int], int], spark
) -> None:
    of, rows = made(*masks, more=more), batch(spark, ROWS)
    aggregated = collect(level1(rows, of, None, None))
    assert cells(aggregated, "f0_p0") == found
    assert sum(aggregated.column("rows").to_pylist()) == len(ROWS)
    assert cells(row_cells(collect(small_rows(rows, of, None)), of, None), "f0_p0") == found
    scanned = compile_scan(of).rows(rows.toArrow(), None)
    assert cells(row_cells(scanned, of, None), "f0_p0") == found


def test_as_many_bits_as_there_may_be(spark) -> None:
    signature = signature_of(parse_expression(f"id DIV {1 << bit} % 2 = 1") for bit in range(MOST))
    assert signature is not None
    rows = spark.range(3).selectExpr(f"CASE id WHEN 0 THEN 0 WHEN 1 THEN {2**MOST - 1} END AS id")
    table = rows.selectExpr(f"{signature_sql(signature)} AS found").toArrow()
    assert table.schema.field("found").type == pa.int64()
    assert table.column("found").to_pylist() == [0, 2**MOST - 1, 0]
