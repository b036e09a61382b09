"""Tables in one file: columns that they have in common are written once, and each comes back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from weft.log import bundle as bundles
from weft.log.bundle import Bundle, BundleWriter, KnownColumns, joined, write_bundle
from weft.log.common import MANY_ROWS, nbytes

ROWS = 2 * MANY_ROWS


def times(first: int, rows: int = ROWS) -> pa.Array:
    return LONG.slice(first, rows)


LONG = pa.array(np.arange(4 * ROWS) // 8)
KEYS = pa.array([f"key {at % 7}" for at in range(ROWS)])


def values(seed: int, rows: int = ROWS) -> pa.Array:
    return pa.array(np.random.default_rng(seed).random(rows))


def tables() -> dict[str, pa.Table]:
    return {
        "a": pa.table({"start": times(0), "end": times(16), "k": KEYS, "v": values(1)}),
        "b": pa.table({"start": times(ROWS), "end": times(ROWS + 8), "key": KEYS, "v": values(2)}),
        "copied": pa.table({"k": pa.concat_arrays([KEYS.slice(0, 5), KEYS.slice(5)]), "v": values(3)}),
        "only common": pa.table({"k": KEYS, "again": KEYS}),
        "short": pa.table({"end": times(0, 10), "v": values(4, 10)}),
        "pieces": pa.table({"k": pa.chunked_array([KEYS.slice(0, 9), KEYS.slice(9)]), "v": values(5)}),
        "null": pa.table({"k": pa.array([None, *KEYS[1:].to_pylist()]), "v": values(6)}),
    }


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    made = tables()
    other = write_bundle(tmp_path, "other", {"first": pa.table({"v": values(9)})}, "answers.data")
    bundle = joined([other, write_bundle(tmp_path, "stem", made, "answers.data")])
    again = Bundle.from_json(bundle.to_json())
    for name, table in made.items():
        assert again.load(tmp_path, name).equals(table), name
        assert again.load(tmp_path, name).schema == table.schema


def test_what_is_common_is_written_once(tmp_path: Path) -> None:
    alone = {name: pa.table(table.to_pydict(), schema=table.schema) for name, table in tables().items()}
    sizes = {}
    for name, some in (("alone", alone), ("common", tables())):
        (file,) = write_bundle(tmp_path, name, some, "answers.data").files
        sizes[name] = (tmp_path / file).stat().st_size
    keys = pa.table({"k": KEYS}).nbytes
    assert nbytes(alone.values()) - nbytes(tables().values()) > 2 * keys
    assert sizes["common"] < sizes["alone"]


@pytest.mark.parametrize("column", ["end", "k"])
def test_a_damaged_common_column_is_noticed(tmp_path: Path, column: str) -> None:
    bundle = write_bundle(tmp_path, "stem", tables(), "answers.data")
    (slot,) = bundle.tables["a"]
    where = next(where for _, name, _, where in slot.common if name == column)
    path = tmp_path / bundle.files[0]
    data = bytearray(path.read_bytes())
    data[where.offset + where.length // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(Exception, match="checksum"):
        bundle.load(tmp_path, "a")


def test_tables_that_are_written_one_by_one_come_back_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "PIECE_BYTES", 1)
    made = {f"{name} {at}": table for at in range(3) for name, table in tables().items()}
    with BundleWriter(tmp_path, "stem", "answers.data", keep=nbytes(tables().values())) as out:
        for name, table in made.items():
            out.add(name, table)
    assert out.held == {}
    assert {"a 0", "b 0"} <= out.kept.keys() < made.keys()
    bundle, known = out.bundle(), KnownColumns()
    for name, table in [*made.items(), *made.items()]:
        assert bundle.load(tmp_path, name, known).equals(table), name
    (file,) = bundle.files
    one_by_one, at_once = (
        (tmp_path / file).stat().st_size,
        write_bundle(tmp_path, "once", made, "answers.data"),
    )
    assert one_by_one < 1.3 * (tmp_path / at_once.files[0]).stat().st_size


def test_few_tables_are_held_and_no_file_is_made(tmp_path: Path) -> None:
    with BundleWriter(tmp_path, "stem", "answers.data") as out:
        out.add("a", tables()["a"])
    assert list(out.held) == ["a"]
    assert out.bundle() == Bundle()
    assert list(tmp_path.iterdir()) == []


def test_of_a_file_that_is_not_finished_nothing_stays(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with BundleWriter(tmp_path, "stem", "answers.data") as out:
            out.add("a", tables()["a"])
            out.write()
            assert len(list(tmp_path.iterdir())) == 1
            raise ValueError("the step failed")

    with pytest.raises(ValueError, match="the step failed"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_columns_are_known_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, known = write_bundle(tmp_path, "stem", tables(), "answers.data"), KnownColumns()
    monkeypatch.setattr(bundles, "_KNOWN_BYTES", 1)
    for name, table in tables().items():
        assert bundle.load(tmp_path, name, known).equals(table), name
    assert len(known._columns) == 1
