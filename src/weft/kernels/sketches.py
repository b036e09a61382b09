"""Sketches as SQL: what level 1 groups by and aggregates so that windows can be put together from slices.

A sketch is a feed with one key more. APPROX_COUNT_DISTINCT: the register a value falls into, with MAX of its
rank. APPROX_PERCENTILE: the bucket of the value, with COUNT. Expressions are Spark's own functions on one
argument, null where it is null; nothing here can fail in ANSI mode.

Error. APPROX_COUNT_DISTINCT: a relative standard error of at most `rsd` (Flajolet et al., "HyperLogLog", with
the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches"). APPROX_PERCENTILE:
the element of exactly the right rank, as its bucket: off by at most 1/accuracy of its size, exact for DATE,
TIMESTAMP, TINYINT, SMALLINT and for numbers of few significant bits; below 2^-960 it is 0.
"""

from __future__ import annotations

import math

from weft.errors import QueryError

LEAST_PRECISION, GREATEST_PRECISION = 4, 18
_TINY = -960  # numbers below 2^-960 fall into the bucket 0
_GREATEST_DOUBLE = "1.7976931348623157E308D"
_GREATEST_FLOAT = "3.4028234663852886E38D"


def precision_for(rsd: float) -> int:
    """How many bits choose the register, for a relative standard deviation of at most `rsd`; Spark's rule."""
    bits = max(LEAST_PRECISION, math.ceil(2 * math.log2(1.106 / rsd))) if rsd > 0 else GREATEST_PRECISION + 1
    if bits > GREATEST_PRECISION:
        raise QueryError(
            "deviation-too-small",
            f"a deviation of {rsd} takes more than {1 << GREATEST_PRECISION} registers for every group",
            help="ask for 0.0022 or more, or for the exact COUNT(DISTINCT ...)",
        )
    return bits


def hll_register(x: str, precision: int) -> str:
    """The register of a value: the first bits of its hash."""
    first = f"shiftrightunsigned(xxhash64({x}), {64 - precision})"
    return f"CASE WHEN ({x}) IS NOT NULL THEN CAST({first} AS INT) END"


def hll_rho(x: str, precision: int) -> str:
    """The rank of a value: one more than the zeros its hash goes on with; 1 .. 65 - precision.

    A one is set behind the hash's last bit, so that there is always one to find.
    """
    rest = f"shiftleft(xxhash64({x}), {precision}) | {1 << (precision - 1)}L"
    return f"CASE WHEN ({x}) IS NOT NULL THEN 65 - length(bin({rest})) END"


def histogram_bucket(x: str, type: str | None, accuracy: int) -> str:
    """The bucket of a value: the value rounded to log2(accuracy) significant bits, of the same type."""
    bits = significant_bits(accuracy)
    match type:
        case "double":
            return _double_bucket(x, bits)
        case "float":
            return f"CAST({_double_bucket(f'CAST({x} AS DOUBLE)', bits, _GREATEST_FLOAT)} AS FLOAT)"
        case "int" | "bigint":
            return _whole_bucket(x, type, bits)
        case str() if type.startswith("decimal"):
            rounded = _double_bucket(f"CAST({x} AS DOUBLE)", bits)
            return f"coalesce(try_cast({rounded} AS {type.upper()}), {x})"
        case _:
            return x


def significant_bits(accuracy: int) -> int:
    """Bits kept by a bucket: one more than asked for pays for a logarithm that is rounded up."""
    return math.ceil(math.log2(max(2, accuracy))) + 1


def _double_bucket(x: str, bits: int, greatest: str = _GREATEST_DOUBLE) -> str:
    scale = f"power(2D, {bits - 1} - floor(log2(abs({x}))))"
    rounded = f"rint(({x}) * {scale}) / {scale}"
    finite = f"greatest(least({rounded}, {greatest}), -{greatest})"
    return (
        f"CASE WHEN ({x}) IS NULL THEN NULL WHEN isnan({x}) OR abs({x}) > {_GREATEST_DOUBLE} THEN {x} "
        f"WHEN abs({x}) < power(2D, {_TINY}) THEN 0D ELSE {finite} END"
    )


def _whole_bucket(x: str, type: str, bits: int) -> str:
    """The last bits cleared, as many as exceed those kept."""
    # -(x + 1) has the size of a negative x and, unlike -x, never overflows.
    size = f"CAST(if({x} < 0, -({x} + 1), {x}) AS DOUBLE)"
    drop = f"CAST(greatest(floor(log2({size} + 1D)) - {bits - 1}, 0) AS INT)"
    return f"CAST(shiftleft(shiftright(CAST({x} AS BIGINT), {drop}), {drop}) AS {type.upper()})"
