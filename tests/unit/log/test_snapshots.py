"""The newest snapshot that can be read wins, if the log reaches back to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from tests.stores import on_disk
from weft.errors import RunError
from weft.log.home import Home
from weft.log.snapshots import Snapshots


def write(home: Home, *steps: int) -> Snapshots:
    snapshots = Snapshots(home)
    for step in steps:
        snapshots.write(
            step, {"step": step}, {"state": pa.table({"v": [step]}), "more": pa.table({"w": [1.5]})}
        )
    return snapshots


def damage(home: Home, step: int, suffix: str) -> str:
    (path,) = (on_disk(home.path) / "snapshots").glob(f"{step:012d}*{suffix}")
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    return path.name


def always(_: Mapping[str, Any]) -> bool:
    return True


def test_none_at_first(home: Home) -> None:
    assert Snapshots(home).latest() is None
    assert Snapshots(home).latest(always) is None
    assert Snapshots(home).horizon() is None


def test_the_log_is_kept_whole_until_there_are_two(home: Home) -> None:
    assert write(home, 10).horizon() is None
    assert write(home, 20).horizon() == {"step": 10}


def test_the_newest_is_found_and_two_are_kept(home: Home) -> None:
    write(home, 10, 20, 30)
    snapshots = Snapshots(home)
    found = snapshots.latest()
    assert found is not None
    assert (found.step, dict(found.meta), found.damaged) == (30, {"step": 30}, ())
    assert found.table("state").to_pydict() == {"v": [30]}
    assert snapshots.horizon() == {"step": 20}
    assert len(os.listdir(on_disk(home.path) / "snapshots")) == 4


@pytest.mark.parametrize("suffix", [".json", ".arrow"])
def test_in_place_of_a_damaged_one_the_one_before(home: Home, suffix: str) -> None:
    write(home, 10, 20)
    name = damage(home, 20, suffix)
    found = Snapshots(home).latest(lambda meta: meta.get("step") == 10)
    assert found is not None
    assert found.step == 10
    assert name in found.damaged[0]


@pytest.mark.parametrize("reaches", [None, lambda _: False])
def test_damage_is_an_error_where_the_log_does_not_reach_back(home: Home, reaches: Any) -> None:
    write(home, 10, 20)
    name = damage(home, 20, ".arrow")
    with pytest.raises(RunError, match=name):
        Snapshots(home).latest(reaches)


def test_all_damaged_but_the_log_is_whole(home: Home) -> None:
    write(home, 10)
    damage(home, 10, ".arrow")
    assert Snapshots(home).latest(lambda meta: not meta) is None


def test_no_snapshot_and_a_log_that_was_expired_is_an_error(home: Home) -> None:
    with pytest.raises(RunError, match="holds no snapshot"):
        Snapshots(home).latest(lambda _: False)


def test_what_a_crash_left_goes(home: Home) -> None:
    write(home, 10)
    (on_disk(home.path) / "snapshots" / "000000000020-1.ab.arrow").write_bytes(b"half")
    (on_disk(home.path) / "snapshots" / "000000000020.json.ab.tmp").write_bytes(b"half")
    found = Snapshots(home).latest()
    assert found is not None
    assert found.step == 10
    assert len(os.listdir(on_disk(home.path) / "snapshots")) == 2
