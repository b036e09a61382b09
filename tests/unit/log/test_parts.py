"""Tables that are rows of one are written as that one."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from weft.errors import RunError
from weft.log.bundle import Bundle, BundleWriter, Part

WHOLE = pa.table({"at": [1, 2, 3, 4], "name": ["a", "b", "b", "c"]})
PARTS = {"one": Part(0, 1), "two": Part(1, 2, ("t", "n")), "again": Part(1, 2), "three": Part(3, 1)}


def written(directory: Path, rows: pa.Table = WHOLE) -> tuple[BundleWriter, Bundle]:
    with BundleWriter(directory, "0", "answers.data", keep=1 << 20) as out:
        out.add("alone", rows)
        out.add_parts(rows, PARTS)
        assert out.has_parts
        out.write()
    return out, Bundle.from_json(json.loads(json.dumps(out.bundle().to_json())))


def test_each_is_read_as_it_was(tmp_path: Path) -> None:
    out, bundle = written(tmp_path)
    assert bundle == out.bundle()
    assert set(bundle.tables) == {"alone", *PARTS}
    for name, part in PARTS.items():
        expected = WHOLE.slice(part.first, part.rows).rename_columns(part.names or ["at", "name"])
        assert bundle.load(tmp_path, name) == expected == out.kept[name]
        assert bundle.rows(name) == part.rows
    assert bundle.load(tmp_path, "alone") == WHOLE


def test_they_are_written_once(tmp_path: Path) -> None:
    _, bundle = written(tmp_path)
    places = {(slot.offset, slot.length) for name in PARTS for slot in bundle.tables[name]}
    assert len(places) == 1
    (file,) = bundle.files
    assert (tmp_path / file).stat().st_size == sum(
        length for _, length in places | {(slot.offset, slot.length) for slot in bundle.tables["alone"]}
    )


def test_of_many_rows_the_columns_that_others_have_are_written_once_as_well(tmp_path: Path) -> None:
    _, bundle = written(tmp_path, pa.table({"at": range(9000), "name": [str(at) for at in range(9000)]}))
    assert all(slot.common for slot in bundle.tables["two"])
    assert bundle.load(tmp_path, "two").to_pydict() == {"t": [1, 2], "n": ["1", "2"]}


def test_a_single_one_is_a_table_like_any(tmp_path: Path) -> None:
    with BundleWriter(tmp_path, "0", "answers.data") as out:
        out.add_parts(WHOLE, {"two": PARTS["two"]})
        assert not out.has_parts
        out.write()
    (slot,) = out.bundle().tables["two"]
    assert (slot.rows, slot.part) == (2, None)


def test_more_rows_of_one_are_further_pieces_of_it(tmp_path: Path) -> None:
    with BundleWriter(tmp_path, "0", "answers.data", keep=1 << 20) as out:
        out.add("alone", WHOLE)
        out.add_parts(WHOLE, PARTS)
        out.add_parts(WHOLE, {"one": Part(2, 1), "new": Part(0, 2)})
        out.add("alone", WHOLE.slice(1))
        out.write()
    bundle = out.bundle()
    assert bundle.load(tmp_path, "one").to_pydict() == {"at": [1, 3], "name": ["a", "b"]}
    assert bundle.load(tmp_path, "alone") == pa.concat_tables([WHOLE, WHOLE.slice(1)])
    assert bundle.rows("one") == 2
    assert set(out.kept) == {"two", "again", "three", "new"}  # of the others only a part would be


def test_damage_is_named(tmp_path: Path) -> None:
    _, bundle = written(tmp_path)
    (file,) = bundle.files
    data = bytearray((tmp_path / file).read_bytes())
    (slot,) = bundle.tables["one"]
    data[slot.offset + slot.length // 2] ^= 1
    (tmp_path / file).write_bytes(data)
    with pytest.raises(RunError, match="checksum"):
        bundle.load(tmp_path, "one")
