"""Tables of a program that runs: which rows see which version, whatever happens in between."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.engine.tabled import NAMES, Desk, Entry, History, Row, bag, entries, made, program, rows, sql
from tests.unit.engine.test_lookups import WIDER, left, pairs
from weft.engine import runtime
from weft.errors import RunError
from weft.lang.bodies import Emission, JoinKind
from weft.plan.nodes import Column, Program
from weft.plan.relations import Paired
from weft.times import BEGINNING, SECOND

ON = sql("_s0_k = _s1_k")
SEES = made(Paired(JoinKind.LEFT, rows(), entries(), ON))
REVISES = made(Paired(JoinKind.INNER, rows(), entries(retroactive=True), ON), Emission.CHANGES)


def seen(desk: Desk, query: str = "q") -> list[tuple[int, int | None]]:
    """When rows came, and what they saw."""
    return sorted((at, w) for at, _, _, _, _, w in desk.answers(query))


def test_a_row_sees_the_version_that_was_in_force_before_it_came(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 10))
    desk.refresh(("a", 2))
    desk.ingest(("a", 0, 9), ("a", 0, 10), ("a", 0, 11))
    desk.runtime.step()
    assert seen(desk) == [(9, 1), (10, 1), (10, 1), (11, 2)]


def test_it_does_not_matter_when_a_step_is_made(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 10))
    desk.runtime.step()
    desk.refresh(("a", 2))
    desk.runtime.step()
    desk.ingest(("a", 0, 9), ("a", 0, 10), ("a", 0, 11))
    desk.runtime.step()
    assert seen(desk) == [(9, 1), (10, 1), (10, 1), (11, 2)]


def test_a_version_is_in_force_after_the_greatest_time_of_all_streams(tmp_path: Path) -> None:
    orders = made(Paired(JoinKind.INNER, rows("orders"), entries(), ON))
    desk = Desk(tmp_path, program(q=SEES, o=orders))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 20), stream="orders")
    desk.refresh(("a", 2))
    desk.ingest(("a", 0, 10), ("a", 0, 21))
    desk.runtime.step()
    assert seen(desk) == [(10, 1), (21, 2)]


def test_what_was_told_by_a_watermark_ahead_of_all_rows_is_not_revised(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=REVISES))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 10))
    desk.runtime.step(watermarks={"quotes": 15 * SECOND})
    desk.refresh(("a", 2))
    (_, version) = desk.runtime.tables.logs["names"].versions()
    assert version.since == 15 * SECOND - 1
    desk.ingest(("a", 9, 40))
    desk.runtime.step()
    there = {at: [w for _, _, _, w in bag(desk.answers("q"), at)] for at in (9, 10, 14, 15, 19, 20)}
    assert there == {9: [], 10: [1], 14: [1], 15: [2], 19: [2], 20: []}


def test_rows_that_are_the_same_as_a_bag_are_no_new_version(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    assert desk.refresh(("a", 1), ("b", 2), ("b", 2))
    assert not desk.refresh(("b", 2), ("a", 1), ("b", 2))
    assert desk.refresh(("b", 2), ("a", 1), ("a", 1))
    assert not desk.again().refresh(("a", 1), ("a", 1), ("b", 2))


def test_the_first_version_is_in_force_from_the_beginning_however_late_it_is_read(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.ingest(("a", 0, 10))
    desk.refresh(("a", 1))
    (version,) = desk.runtime.tables.logs["names"].versions()
    assert version.since == BEGINNING
    desk.runtime.step()
    assert seen(desk) == [(10, 1)]


def test_a_step_names_the_versions_it_used_and_a_replay_uses_those(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 10))
    desk.refresh(("a", 2))
    desk.ingest(("a", 0, 11))
    intent = {
        "epoch": desk.runtime.epoch, "why": "batch", "positions": {"quotes": 1},
        "reach": {"quotes": [8 * SECOND, BEGINNING]}, "tables": {"names": 0},
    }  # fmt: skip
    desk.runtime.answers.intend(0, intent)
    desk = desk.again()
    assert desk.runtime.answers.records()[-1].meta["tables"] == {"names": 0}
    assert seen(desk) == [(10, 1), (11, 1)]


def test_a_version_that_a_step_used_and_that_is_gone_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 10))
    desk.runtime.step()
    (gone,) = (tmp_path / "home" / "tables" / "names").glob("*.json")
    gone.unlink()
    with pytest.raises(RunError, match=r"tables/names/000000000000\.json") as raised:
        desk.again()
    assert raised.value.code == "damaged-state"
    desk.home.close()


@pytest.mark.parametrize("seed", range(12))
def test_restarts_between_versions_change_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 5]))
    both = program(
        q=made(Paired(JoinKind.LEFT, rows(), entries(), WIDER)),
        r=made(Paired(JoinKind.INNER, rows(), entries(retroactive=True), WIDER), Emission.CHANGES),
    )
    desk, history = Desk(tmp_path, both), History()
    now = 100
    for at in range(14):
        if at == 0 or rng.random() < 0.4:
            found: list[Entry] = [(rng.choice("ab"), rng.randint(0, 2)) for _ in range(rng.randint(0, 3))]
            if desk.refresh(*found):
                history.versions.append((now if at else None, found))
        now += rng.randint(1, 5)
        given: list[Row] = [(rng.choice("abc"), rng.randint(0, 3), now - rng.randint(0, 3)) for _ in "ab"]
        given.append((rng.choice("ab"), 3, now))
        history.rows += given
        desk.ingest(*given)
        if rng.random() < 0.6:
            desk.runtime.step()
        if rng.random() < 0.4:
            desk = desk.again()
    desk.runtime.step()
    assert Counter(desk.answers("q")) == history.lookups(left)
    for second in range(90, now - 3):
        assert bag(desk.answers("r"), second) == history.asof(second, pairs), second
    desk.home.close()


def test_versions_go_when_no_row_can_see_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    desk = Desk(tmp_path, program(q=SEES))
    log = desk.runtime.tables.logs["names"]
    for at in range(100, 160, 2):
        desk.refresh(("a", at))
        desk.ingest(("a", 0, at))
        desk.runtime.step()
    assert len(log.versions()) <= 5  # of the delay, 3 seconds, and two snapshots
    desk = desk.again()
    desk.ingest(("a", 0, 156), ("a", 0, 157), ("a", 0, 162))
    desk.runtime.step()
    assert seen(desk)[-5:] == [(156, 156), (156, 156), (157, 158), (158, 158), (162, 158)]


def test_rows_without_a_window_that_look_up_a_table_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    desk = Desk(tmp_path, program(q=made(Paired(JoinKind.LEFT, rows(range_=None), entries(), ON))))
    for at in range(100, 160, 2):
        desk.refresh(("a", at))
        desk.ingest(("a", 0, at))
        desk.runtime.step()
    assert len(desk.runtime.logs["quotes"].records()) <= 5  # of the delay, 3 seconds, and two snapshots
    assert len(desk.runtime.tables.logs["names"].versions()) <= 5
    assert seen(desk.again()) == [(at, at) for at in range(100, 160, 2)]


def test_a_query_added_later_sees_the_version_that_rows_to_come_see(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    desk.ingest(("a", 0, 10))
    desk.runtime.step()
    desk.refresh(("a", 2))
    desk.ingest(("a", 0, 11))
    desk.runtime.step()
    desk.runtime.change(program(q=SEES, later=made(Paired(JoinKind.INNER, rows(), entries(), ON))))
    desk.ingest(("a", 0, 12))
    desk.runtime.step()
    assert seen(desk, "later") == [(12, 2)]


def keyed() -> Program:
    return program(replace(NAMES, statement=replace(NAMES.statement, key=("k",))), q=SEES)


def test_two_rows_with_one_key_are_refused_and_the_version_before_stays(tmp_path: Path) -> None:
    desk = Desk(tmp_path, keyed())
    desk.refresh(("a", 1), ("b", 1))
    with pytest.raises(RunError) as raised:
        desk.refresh(("a", 1), ("b", 1), ("b", 2))
    assert raised.value.code == "duplicate-key"
    assert raised.value.what == "table `names` has 2 rows with the key k = 'b'"
    desk.ingest(("b", 0, 10))
    desk.runtime.step()
    assert seen(desk) == [(10, 1)]


def test_a_key_may_be_used_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, keyed())
    for at, found in enumerate([[("a", 1)], [], [("a", 2)]]):
        desk.refresh(*found)
        desk.ingest(("a", 0, 10 + at))
    desk.runtime.step()
    assert seen(desk) == [(10, 1), (11, None), (12, 2)]


def test_a_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    other = replace(NAMES, columns=(Column("k", "string"), Column("w", "int")))
    with pytest.raises(RunError, match="its columns were k string, w bigint") as raised:
        desk.again(program(other, q=SEES))
    assert raised.value.code == "table-changed"


def test_a_change_that_is_refused_leaves_tables_as_they_were(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.refresh(("a", 1))
    other = replace(NAMES, columns=(Column("k", "string"), Column("w", "int")))
    with pytest.raises(RunError, match="its columns were k string, w bigint"):
        desk.runtime.change(program(other, q=SEES))
    desk.refresh(("a", 2))
    desk.ingest(("a", 0, 10))
    desk.runtime.step()
    assert desk.runtime.tables.declared == {NAMES.name: NAMES}
    assert seen(desk) == [(10, 2)]
    desk.home.close()


def test_rows_of_a_table_on_which_an_expression_fails_are_counted_and_left_out(tmp_path: Path) -> None:
    some = entries(where="10 / w > 1")
    desk = Desk(tmp_path, program(q=made(Paired(JoinKind.LEFT, rows(), some, ON))))
    desk.refresh(("a", 0), ("b", 5), ("c", 20))
    desk.ingest(("a", 0, 10), ("b", 0, 11), ("c", 0, 12))
    desk.runtime.step()
    assert seen(desk) == [(10, None), (11, 5), (12, None)]
    assert desk.runtime.tally.get("dead", desk.runtime.running["q"].key) == 1


def test_rows_come_back_as_they_were_declared(tmp_path: Path) -> None:
    desk = Desk(tmp_path, program(q=SEES))
    desk.runtime.refresh("names", pa.table({"k": ["a"], "w": pa.array([1], pa.int32())}))
    log = desk.again().runtime.tables.logs["names"]
    (version,) = log.versions()
    assert log.load(version).schema == pa.schema([("k", pa.string()), ("w", pa.int64())])
    assert version.rows == 1
