"""State on its way to another process."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa

from weft.engine.packing import packed
from weft.engine.relations.evaluate import Evaluator, without_spark
from weft.lang.parse import parse_expression
from weft.plan.nodes import Column, Named


def through(state: object) -> tuple[object, int]:
    """What comes out at the other end, and how many bytes went there."""
    arrays: list[pickle.PickleBuffer] = []
    body = packed(state, arrays.append)
    copies = [bytes(array) for array in arrays]
    return pickle.loads(body, buffers=copies), len(body) + sum(map(len, copies))


def test_a_slice_goes_without_the_rest() -> None:
    numbers = pa.array(np.arange(1_000_000))
    states = [
        pa.table({"n": numbers}).slice(5, 3),
        numbers.slice(7, 2),
        pa.chunked_array([numbers]).slice(9, 4),
    ]
    for state in states:
        found, size = through(state)
        assert found.equals(state)  # type: ignore[attr-defined]
        assert size < 10_000


def test_what_two_hold_is_held_by_both_afterwards() -> None:
    shared = {"rows": pa.table({"k": ["A", None]})}
    (one, other), _ = through((shared, [shared]))  # type: ignore[misc]
    assert other[0] is one
    assert one["rows"].column("k").to_pylist() == ["A", None]


def test_expressions_are_compiled_again() -> None:
    named = [Named("s", parse_expression("`l k` + 1"), "bigint")]
    made = Evaluator(named, [Column("l k", "bigint")], without_spark)
    again, _ = through(made)
    assert isinstance(again, Evaluator)
    table, failed = again.run(pa.table({"l k": [1, None, 3]}), 3)
    assert table.column("s").to_pylist() == [2, None, 4]
    assert failed is None
