from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Bug
from weft.kernels.decimals import from_limbs, limbs, to_decimal, wide_limbs
from weft.kernels.finals import finish

WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


def halves(total: int) -> tuple[np.ndarray, ...]:
    """A sum that arrives as two halves, the low one far beyond 32 bits."""
    low = (total & 0xFFFFFFFF) + (7 << 32)
    return np.array([(total >> 32) - 7]), np.array([low]), np.array([1])


def pieces(unscaled: int) -> tuple[np.ndarray, ...]:
    return *(np.array([limb]) for limb in split(unscaled)), np.array([1])


def split(unscaled: int) -> list[int]:
    """Limbs that have not been carried."""
    low = [(unscaled >> (32 * at)) & 0xFFFFFFFF for at in range(3)]
    return [low[0] + (5 << 32), low[1] - 5 + (1 << 32), low[2] - 1, unscaled >> 96]


@given(st.integers(-(2**63) - 5, 2**63 + 5))
def test_a_bigint_sum_is_exact_or_fails(total: int) -> None:
    values, failed = finish("sum", "bigint", "bigint", [halves(total)])
    fits = -(2**63) <= total < 2**63
    assert values.to_pylist() == [total if fits else None]
    assert (failed is not None and bool(failed[0])) == (not fits)


def test_a_sum_of_nothing_is_null_and_a_sum_of_zeros_is_not() -> None:
    ints = finish("sum", "int", "bigint", [(np.array([0, 0]), np.array([0, 1]))])
    floats = finish("sum", "double", "double", [(np.array([-0.0, 0.0]),)])
    assert ints[0].to_pylist() == [None, 0]
    assert floats[0].to_pylist() == [None, 0.0]


@given(st.integers(-(10**28), 10**28), st.integers(-(10**38) + 1, 10**38 - 1))
def test_wide_decimals_are_put_together_from_two_parts(high: int, low: int) -> None:
    parts = (pa.array([Decimal(n), None], pa.decimal128(38, 0)) for n in (high, low))
    back = from_limbs([np.where([True, False], limb, 0) for limb in wide_limbs(*parts)])
    assert back.tolist() == [high * 2**64 + low, 0]


@given(st.integers(-(10**30), 10**30))
def test_decimals_survive_their_limbs(unscaled: int) -> None:
    array = pa.array([Decimal(unscaled).scaleb(-2, WIDE), None], pa.decimal128(38, 2))
    parts = [np.where([True, False], limb, 0) for limb in limbs(array)]
    back = from_limbs(parts)
    assert back.tolist() == [unscaled, 0]
    assert to_decimal(back, array.type, np.array([True, False])).equals(array)


@given(st.integers(-(10**38) - 1, 10**38 + 1))
def test_a_decimal_sum_fails_beyond_its_digits(unscaled: int) -> None:
    values, failed = finish("sum", "decimal(30,6)", "decimal(38,6)", [pieces(unscaled)])
    fits = abs(unscaled) < 10**38
    assert values.to_pylist() == [Decimal(unscaled).scaleb(-6, WIDE) if fits else None]
    assert (failed is not None and bool(failed[0])) == (not fits)


def test_a_short_decimal_sum_fails_beyond_its_digits() -> None:
    values, failed = finish("sum", "decimal(2,0)", "decimal(12,0)", [pieces(10**12)])
    assert values.to_pylist() == [None]
    assert failed is not None
    assert failed.tolist() == [True]


@given(st.integers(-(10**24), 10**24), st.integers(1, 10**6), st.sampled_from([(10, 2), (20, 6), (28, 20)]))
def test_a_decimal_average_is_rounded_as_spark_rounds(
    unscaled: int, count: int, type: tuple[int, int]
) -> None:
    precision, scale = type
    result = min(precision + 4, 38), min(scale + 4, 38)
    with localcontext(WIDE):
        exact = Decimal(unscaled).scaleb(-scale) / count
        expected = exact.quantize(Decimal(1).scaleb(-38)).quantize(Decimal(1).scaleb(-result[1]))
    values, failed = finish(
        "avg",
        f"decimal({precision},{scale})",
        f"decimal({result[0]},{result[1]})",
        [pieces(unscaled), (np.array([count]),)],
    )
    fits = abs(expected.scaleb(result[1], WIDE)) < 10 ** result[0]
    assert values.to_pylist() == [expected if fits else None]
    assert (failed is not None and bool(failed[0])) == (not fits)


@pytest.mark.parametrize("total", [10**38 - 1, 10**38, -(10**38)])
def test_an_average_fails_where_the_sum_has_no_room(total: int) -> None:
    values, failed = finish("avg", "decimal(38,38)", "decimal(38,38)", [pieces(total), (np.array([1000]),)])
    fits = abs(total) < 10**38
    assert values.to_pylist() == [Decimal("1e-3").quantize(Decimal("1e-38"), context=WIDE) if fits else None]
    assert (failed is None) == fits


def test_averages_of_other_types_are_doubles() -> None:
    count = (np.array([4, 0]),)
    ints, _ = finish("avg", "int", "double", [(np.array([10, 0]), np.array([2, 0])), count])
    assert ints.to_pylist() == [2.5, None]
    longs, _ = finish("avg", "bigint", "double", [tuple(np.repeat(x, 2) for x in halves(2**63 - 1)), count])
    assert longs.to_pylist() == [(2**63 - 1) / 4, None]
    negative = (np.array([-3_000_001]), np.array([3_000_001 * 0xFFFFFFFF]), np.array([3_000_001]))
    assert finish("avg", "bigint", "double", [negative, negative[2:]])[0].to_pylist() == [-1.0]
    floats, _ = finish("avg", "float", "double", [(np.array([math.inf, -0.0]),), count])
    assert floats.to_pylist() == [math.inf, None]


def test_spreads_of_few_values() -> None:
    moments = (np.array([0.0, 1.0, 2.0]), np.zeros(3), np.array([0.0, 0.0, 8.0]))
    found = {name: finish(name, "double", "double", [moments])[0].to_pylist() for name in
             ("var_pop", "var_samp", "stddev_pop", "stddev_samp")}  # fmt: skip
    assert found["var_pop"] == [None, 0.0, 4.0]
    assert found["var_samp"] == [None, None, 8.0]
    assert found["stddev_pop"] == [None, 0.0, 2.0]
    assert found["stddev_samp"] == [None, None, math.sqrt(8.0)]


def test_values_take_the_type_asked_for() -> None:
    values, _ = finish("min", "smallint", "smallint", [(pa.array([1, None], pa.int64()),)])
    assert values.type == pa.int16()
    with pytest.raises(Bug, match="median"):
        finish("median", "double", "double", [])
