"""How many values there are, by the least of their hashes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from weft.kernels.leasthashes import KEPT, count_of, least_hashes, together


@pytest.mark.parametrize("count", [0, 1, 7, KEPT - 1])
def test_few_are_counted_exactly(count: int) -> None:
    values = pa.array([*range(count), None, *range(count)], pa.int32())
    assert count_of(least_hashes(values)) == count


@pytest.mark.parametrize("count", [KEPT, 10_000, 300_000])
@pytest.mark.parametrize("type_", [pa.int64(), pa.string()])
def test_many_are_counted_nearly(count: int, type_: pa.DataType) -> None:
    values = pa.array(np.arange(count)).cast(type_)
    assert count_of(least_hashes(values)) == pytest.approx(count, rel=0.08)


def test_parts_are_put_together_to_the_whole() -> None:
    values = pa.array(np.arange(20_000) % 9_000)
    parts = [least_hashes(values.slice(at, 5_000)) for at in range(0, 20_000, 5_000)]
    assert np.array_equal(together(parts), least_hashes(values))
