from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.kernels.model import order
from weft.kernels.combine import GREATEST, LEAST
from weft.kernels.orders import Ranked, order_of

VALUES = {
    "double": (pa.float64(), st.floats(width=64)),
    "float": (pa.float32(), st.floats(width=32)),
    "bigint": (pa.int64(), st.integers(LEAST + 1, GREATEST - 1)),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "boolean": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(max_size=4)),
    "binary": (pa.binary(), st.binary(max_size=4)),
    "decimal(9,2)": (pa.decimal128(9, 2), st.decimals(-(10**6), 10**6, places=2)),
    "decimal(38,2)": (pa.decimal128(38, 2), st.decimals(-(10**30), 10**30, places=2)),
}


@pytest.mark.parametrize("type", VALUES)
@given(data=st.data())
def test_codes_order_as_values_do_and_decode_to_them(type: str, data: st.DataObject) -> None:
    arrow, strategy = VALUES[type]
    coded = order_of(arrow)
    known: list[object] = []
    codes = np.zeros(0, np.int64)
    for batch in data.draw(st.lists(st.lists(st.none() | strategy, max_size=6), max_size=4)):
        array = pa.array(batch, arrow)
        new, recode = coded.encode(array)
        codes = codes if recode is None else recode(codes)
        present = [value is not None for value in batch]
        codes = np.concatenate([codes, new[np.array(present, bool)]])
        known += [value for value in array.to_pylist() if value is not None]
    assert not np.isin(codes, [LEAST, GREATEST]).any()
    by_code = [known[at] for at in np.argsort(codes, kind="stable")]
    assert list(map(order, by_code)) == list(map(order, sorted(known, key=order)))
    assert list(map(order, coded.decode(codes, None).to_pylist())) == list(map(order, known))


def test_a_full_gap_deals_all_codes_anew() -> None:
    """Each value goes between the first and the one before it: gaps are halved until none is left."""
    ranked, codes, values = Ranked(pa.string()), np.zeros(0, np.int64), ["a", "b"]
    recoded = 0
    for step in range(100):
        batch = values if step == 0 else ["a" + "0" * step + "z"]
        values = values if step == 0 else values + batch
        new, recode = ranked.encode(pa.array(batch))
        if recode is not None:
            recoded += 1
            codes = recode(codes)
        codes = np.concatenate([codes, new])
    assert recoded > 0
    assert ranked.decode(codes, None).to_pylist() == values
    assert [values[at] for at in np.argsort(codes)] == sorted(values)


def test_pruned_values_are_forgotten_and_may_come_back() -> None:
    ranked = Ranked(pa.string())
    codes, _ = ranked.encode(pa.array(["a", "b", "c"]))
    ranked.prune(codes[1:2])
    assert ranked.decode(ranked.codes, None).to_pylist() == ["b"]
    again, _ = ranked.encode(pa.array(["c", "a"]))
    assert again[1] < codes[1] < again[0]


def test_nulls_decode_to_null() -> None:
    for arrow, value in [(pa.string(), "x"), (pa.int32(), 3), (pa.decimal128(30, 1), Decimal("1.5"))]:
        coded = order_of(arrow)
        codes, _ = coded.encode(pa.array([value, None], arrow))
        assert coded.decode(codes, np.array([True, False])).to_pylist() == [value, None]
