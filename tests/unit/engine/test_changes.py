"""A program that is changed, stopped and started: who goes on, who starts where, who ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.bench import STREAM, Bench, row
from weft.engine.report import report
from weft.errors import RunError
from weft.kernels.state import FeedState
from weft.log import home
from weft.share.build import Planner
from weft.share.model.forecast import Basis

Open = Callable[..., Bench]

COUNT = "CREATE QUERY n AS SELECT COUNT(*) AS n FROM trades [RANGE 4 SECONDS];"
HIGH = "CREATE QUERY high AS SELECT MAX(price) AS p FROM trades [RANGE 4 SECONDS];"
LOW = "CREATE QUERY high AS SELECT MIN(price) AS p FROM trades [RANGE 4 SECONDS];"
ROWS = "CREATE QUERY rows AS SELECT price FROM trades WHERE qty > 0;"
OTHER_ROWS = "CREATE QUERY rows AS SELECT sym FROM trades WHERE qty > 0;"
CASTS = "CREATE QUERY casts AS SELECT SUM(CAST(note AS INT)) AS s FROM trades [RANGE 4 SECONDS]"
STRICT = f"{CASTS} ON ERROR FAIL;"
WIDE = """
CREATE QUERY wide AS
  SELECT sym, SUM(CAST(note AS DECIMAL(38,0))) AS s FROM trades [RANGE 4 SECONDS] GROUP BY sym;
"""
MOST = "9" * 38


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Open]:
    """Starts a program in one and the same home, ending the one before as a crash would."""
    benches: list[Bench] = []

    def opened(text: str, stream: str = STREAM) -> Bench:
        if benches:
            benches[-1].close()
        benches.append(Bench(tmp_path, text, stream))
        return benches[-1]

    yield opened
    if benches:
        benches[-1].close()


def feed(bench: Bench, *seconds: float, note: str = "1", step: bool = True) -> None:
    """One batch with a row for each of these times; its price is the time."""
    bench.ingest(*(row("A", at, 1, note, at) for at in seconds))
    if step:
        bench.step()


def finish(bench: Bench) -> None:
    bench.step()
    bench.drain()
    bench.deliver()


def ends(rows: list[dict[str, Any]]) -> list[float]:
    return [row["window_end"].timestamp() for row in rows]


def column(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows]


# -- going on, starting, ending


def test_an_unchanged_query_goes_on_beside_a_new_one(start: Open) -> None:
    feed(start(COUNT), 1, 5, 9)
    bench = start(COUNT + HIGH)
    feed(bench, 10, 13, 17)
    finish(bench)
    assert column(bench.answers("n"), "n") == [1, 1, 2, 1, 1]
    assert ends(bench.answers("n")) == [4, 8, 12, 16, 20]


def test_a_new_query_starts_with_the_first_window_after_the_greatest_time(start: Open) -> None:
    feed(start(COUNT), 1, 9)
    bench = start(COUNT + HIGH)
    feed(bench, 8.5, 10, 13)  # [8, 12) is not its window: it does not know the rows before it was there
    finish(bench)
    assert ends(bench.answers("high")) == [16]
    assert column(bench.answers("high"), "p") == [13]
    assert bench.runtime.running["high"].bound == 9_000_000


def test_rows_of_windows_before_a_new_query_are_not_late_for_it(start: Open) -> None:
    bench = start(COUNT)
    feed(bench, 1, 9)
    finish(bench)  # [8, 12) is drained, and so are all windows that start by 9
    slow = "CREATE QUERY slow AS SELECT COUNT(*) AS n FROM trades [RANGE 8 SECONDS SLIDE 2 SECONDS];"
    bench = start(COUNT + slow)
    feed(bench, 10, 13)
    finish(bench)
    assert bench.runtime.tally.get("late", "n@1") == 1
    assert bench.runtime.tally.get("late", "slow@1") == 0
    assert ends(bench.answers("slow")) == [18, 20]


def test_a_query_that_is_new_to_an_empty_home_has_no_bound(start: Open) -> None:
    bench = start(COUNT)
    feed(bench, 1)
    finish(bench)
    assert ends(bench.answers("n")) == [4]
    assert bench.runtime.running["n"].bound is None


def test_a_removed_query_ends_and_its_answers_stay(start: Open) -> None:
    bench = start(COUNT + HIGH)
    feed(bench, 1, 9)
    bench.deliver()
    bench = start(COUNT)
    feed(bench, 17)
    finish(bench)
    assert ends(bench.answers("high")) == [4]
    assert ends(bench.answers("n")) == [4, 12, 20]
    assert [version.dropped for version in bench.runtime.catalog.versions("high")] == [1]


def test_a_changed_query_is_a_new_version_with_its_own_dataset(start: Open) -> None:
    bench = start(HIGH)
    feed(bench, 1, 3, 9)
    bench.deliver()
    bench = start(LOW)
    feed(bench, 13, 14, 21)
    finish(bench)
    assert column(bench.answers("high"), "p") == [3]
    assert column(bench.answers("high", version=2), "p") == [13, 21]


def test_a_query_added_while_it_runs_starts_like_one_added_at_a_start(start: Open) -> None:
    bench = start(COUNT)
    feed(bench, 1, 9)
    bench.change(COUNT + HIGH)
    feed(bench, 8.5, 13)
    finish(bench)
    assert ends(bench.answers("high")) == [16]


def test_a_batch_under_way_at_a_change_is_ingested_for_the_changed_program(start: Open) -> None:
    bench = start(COUNT)
    feed(bench, 1)
    under_way = bench.batch([row("A", 5, 1, "1", 5)])
    bench.change(COUNT + HIGH)
    assert not bench.runtime.commit(under_way)
    feed(bench, 5)
    finish(bench)
    assert column(bench.answers("high"), "p") == [5]
    assert column(bench.answers("n"), "n") == [1, 1]


def test_what_queries_needed_that_are_gone_is_let_go_beside_the_others(start: Open) -> None:
    bench = start(WIDE + COUNT)
    feed(bench, 1)
    bench.change(COUNT)
    assert len(bench.runtime.plan.streams[0].feeds) == 2
    under_way = bench.batch([row("A", 5, 1, "1", 5)])
    assert bench.runtime.reweave()
    assert len(bench.runtime.plan.streams[0].feeds) == 1
    assert not bench.runtime.reweave()
    assert bench.runtime.commit(under_way)
    feed(bench, 6)
    finish(bench)
    assert column(bench.answers("n"), "n") == [1, 2]


def test_a_query_that_fails_while_the_plan_is_made_anew_is_not_in_it(start: Open) -> None:
    bench = start(WIDE + COUNT + CASTS + ";")
    bench.change(COUNT + CASTS + ";")
    planner = bench.runtime.planner
    anew = planner.anew

    def slow(basis: Basis) -> Callable[[], Planner]:
        bench.runtime.planner.anew = anew  # type: ignore[method-assign]
        weave = anew(basis)

        def late() -> Planner:
            bench.runtime.quarantine({"casts": "a test"})
            return weave()

        return late

    planner.anew = slow  # type: ignore[method-assign, assignment]
    assert not bench.runtime.reweave()
    (plan,) = bench.runtime.plan.streams
    assert [tap.query.name for tap in plan.taps] == ["n"]
    assert [len(each.partials) for each in plan.feeds] == [1]
    assert not plan.guards


# -- the same however batches fall into steps


@pytest.mark.parametrize("where", ["", "WHERE qty > 5", "WHERE qty > 500"])
@pytest.mark.parametrize("stepped", [(0, 1, 2, 3), (1, 3), (3,), (0, 3)])
def test_empty_windows_do_not_depend_on_how_batches_fall_into_steps(
    start: Open, where: str, stepped: tuple[int, ...]
) -> None:
    bench = start(
        f"CREATE QUERY each AS SELECT COUNT(*) AS n FROM trades [RANGE 2 SECONDS] {where} EMIT EMPTY;"
    )
    for at, seconds in enumerate((21, 19, 27, 33)):
        bench.ingest(row("A", 1, 10, "1", seconds))
        if at in stepped:
            bench.step()
            bench = start(bench.text)
    finish(bench)
    assert ends(bench.answers("each")) == [20, 22, 24, 26, 28, 30, 32, 34]
    counts = [0] * 8 if "500" in where else [1, 1, 0, 0, 1, 0, 0, 1]
    assert column(bench.answers("each"), "n") == counts


def test_the_watermark_of_an_idle_stream_does_not_go_back_after_a_crash(start: Open) -> None:
    bench = start(COUNT)
    feed(bench, 1, 5)
    bench.runtime.step(why="idle", watermarks={"trades": 9_000_000})
    bench = start(COUNT)
    feed(bench, 6, 10)  # the first of them comes too late: [4, 8) was answered while nothing came
    finish(bench)
    assert column(bench.answers("n"), "n") == [1, 1, 1]
    assert bench.runtime.tally.get("late", "n@1") == 1


def test_a_drain_that_was_intended_is_carried_out_after_a_crash(
    start: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = start(COUNT)
    feed(bench, 1, 5)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bench.runtime.answers, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            bench.drain()
    bench = start(COUNT)
    bench.deliver()
    assert ends(bench.answers("n")) == [4, 8]
    feed(bench, 6, 9)  # one row for a window that was answered, one for a new one
    finish(bench)
    assert ends(bench.answers("n")) == [4, 8, 12]
    assert bench.runtime.tally.get("late", "n@1") == 1


# -- answered, but not yet delivered, when the program changed


@pytest.mark.parametrize("text", [COUNT, COUNT + LOW])
def test_what_a_query_had_answered_is_delivered_after_it_ended(start: Open, text: str) -> None:
    feed(start(COUNT + HIGH), 1, 9)
    bench = start(text)
    bench.deliver()
    assert column(bench.answers("high"), "p") == [1]


def test_the_dataset_of_a_query_that_ended_may_be_taken_by_another(start: Open, tmp_path: Path) -> None:
    into = f"INTO parquet OPTIONS ('path' = '{tmp_path / 'out'}');"
    bench = start(COUNT + HIGH.replace(";", into))
    feed(bench, 1, 9)
    bench.deliver()
    bench = start(COUNT)
    for file in sorted((tmp_path / "out").iterdir()):
        file.unlink()
    bench = start(COUNT + LOW.replace("high", "low").replace(";", into))
    feed(bench, 13)
    finish(bench)
    assert (tmp_path / "out").exists()


def test_a_dataset_of_another_query_is_refused_before_the_program_changes(
    start: Open, tmp_path: Path
) -> None:
    into = f"INTO parquet OPTIONS ('path' = '{tmp_path / 'out'}');"
    bench = start(COUNT + HIGH.replace(";", into))
    feed(bench, 1, 9)
    bench.deliver()
    with pytest.raises(RunError, match=r"already holds the answers of `high@1`"):
        start(COUNT + LOW.replace(";", into))
    bench = start(COUNT + HIGH.replace(";", into))
    assert bench.runtime.running["high"].version == 1


def test_rows_of_a_standing_filter_are_not_taken_for_those_of_its_next_version(start: Open) -> None:
    feed(start(ROWS), 1, step=False)
    bench = start(OTHER_ROWS)
    feed(bench, 2)
    finish(bench)
    assert bench.answers("rows", version=2) == [{"sym": "A"}]


# -- failing


def test_a_failing_row_is_a_dead_letter_of_its_query_alone(start: Open) -> None:
    bench = start(COUNT + CASTS + ";")
    feed(bench, 1, note="x")
    feed(bench, 2, 9)
    finish(bench)
    assert column(bench.answers("casts"), "s") == [1, 1]
    assert column(bench.answers("n"), "n") == [2, 1]
    assert column(bench.dead("casts@1"), "query") == ["casts"]


def test_rows_and_answers_may_fail_in_one_step(start: Open) -> None:
    query = "CREATE QUERY q AS SELECT SUM(CAST(note AS INT)) AS s, 10 DIV (COUNT(*) - 2) AS n FROM trades "
    bench = start(query + "[RANGE 4 SECONDS];\n")
    bench.ingest(*(row("A", 1, 1, note, at) for note, at in zip("x234", (1, 2, 3, 9), strict=True)))
    bench.step()
    bench.deliver()
    assert sorted(each["reason"] for each in bench.dead("q@1")) == [
        "an expression over the aggregates of this window fails",
        "it fails",
    ]


def test_a_sum_that_does_not_fit_is_a_dead_letter_and_its_query_goes_on(start: Open) -> None:
    bench = start(WIDE)
    bench.ingest(row("A", 1, 1, "5", 1), row("B", 1, 1, MOST, 1), row("B", 1, 1, "1", 2))
    bench.ingest(row("B", 1, 1, MOST, 5), row("B", 1, 1, MOST, 6))
    bench.ingest(row("B", 1, 1, f"-{MOST}", 7), row("B", 1, 1, "7", 9))
    finish(bench)
    assert [(e, r["sym"], r["s"]) for e, r in zip(ends(bench.answers("wide")), bench.answers("wide"))] == [
        (4, "A", 5),
        (8, "B", int(MOST)),
        (12, "B", 7),
    ]
    assert column(bench.dead("wide@1"), "query") == ["wide"]
    assert bench.runtime.tally.get("dead", "wide@1") == 1
    assert "wide" in bench.runtime.running


@pytest.mark.parametrize(
    ("rest", "answers", "dead"),
    [
        ("", ["A", "C"], 1),
        ("HAVING SUM(qty) <> 0", ["A", "C"], 0),  # what it leaves out does not fail
        ("HAVING 1 DIV SUM(qty) >= 0", ["A", "C"], 1),
        ("ORDER BY SUM(price) LIMIT 1", ["A"], 0),  # nor does what is not among the first
        ("ORDER BY SUM(price) LIMIT 2", ["A"], 1),
        ("ORDER BY 1 DIV SUM(qty), sym LIMIT 2", ["A", "C"], 1),
    ],
)
def test_only_an_answer_can_fail(start: Open, rest: str, answers: list[str], dead: int) -> None:
    bench = start(
        "CREATE QUERY q AS SELECT sym, 10 DIV SUM(qty) AS d FROM trades [RANGE 4 SECONDS]"
        f" GROUP BY sym {rest};"
    )
    bench.ingest(row("A", 1, 1, "x", 1), row("B", 2, 0, "x", 1), row("C", 3, 1, "x", 1))
    finish(bench)
    assert sorted(column(bench.answers("q"), "sym")) == answers
    assert bench.runtime.tally.get("dead", "q@1") == dead
    assert len(bench.dead("q@1")) == dead


def test_on_error_fail_stops_the_query_at_the_batch_with_the_row(start: Open) -> None:
    bench = start(COUNT + STRICT)
    feed(bench, 1, 9)
    feed(bench, 13, note="x")
    feed(bench, 21)
    finish(bench)
    assert ends(bench.answers("casts")) == [4]
    assert ends(bench.answers("n")) == [4, 12, 16, 24]
    assert "casts" not in bench.runtime.running
    assert len(bench.dead("casts@1")) == 1


def test_on_error_fail_holds_for_a_batch_that_was_not_answered_before_a_crash(start: Open) -> None:
    bench = start(COUNT + STRICT)
    feed(bench, 1, 9)
    feed(bench, 13, note="x", step=False)
    bench = start(COUNT + STRICT)
    finish(bench)
    assert ends(bench.answers("casts")) == [4]
    assert "casts" not in bench.runtime.running
    assert len(bench.dead("casts@1")) == 1


def test_a_failed_query_stays_out_until_its_text_changes(start: Open) -> None:
    bench = start(COUNT + STRICT)
    feed(bench, 1, note="x")
    bench = start(COUNT + STRICT)
    assert "casts" not in bench.runtime.running
    feed(bench, 9)
    bench = start(COUNT + STRICT.replace("SUM", "MAX"))
    assert bench.runtime.running["casts"].version == 2
    feed(bench, 13, 21)
    finish(bench)
    assert ends(bench.answers("casts", version=2)) == [16, 24]
    assert bench.answers("casts") == []


def test_the_failure_of_a_version_does_not_concern_the_next_one(start: Open) -> None:
    bench = start(COUNT + STRICT)
    feed(bench, 1, note="x")
    start(COUNT + STRICT.replace("SUM", "MAX"))
    bench = start(COUNT + STRICT.replace("SUM", "MAX"))
    assert bench.runtime.running["casts"].version == 2


def test_a_batch_that_failed_for_one_version_is_not_held_against_the_next(start: Open) -> None:
    bench = start(COUNT + STRICT)
    feed(bench, 1, note="x", step=False)
    bench = start(COUNT + STRICT.replace("CAST(note AS INT)", "qty"))
    finish(bench)
    assert bench.runtime.running["casts"].version == 2
    assert len(bench.dead("casts@1")) == 1
    assert bench.runtime.tally.get("dead", "casts@1") == 1


# -- a step that goes wrong


def test_after_a_step_that_failed_nothing_is_answered_until_the_next_start(
    start: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = start(COUNT)
    feed(bench, 1, 9, step=False)

    def full(*_: object) -> None:
        raise RunError("disk-full", "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(bench.runtime.answers, "commit", full)
        with pytest.raises(RunError, match="no space left"):
            bench.step()
    with pytest.raises(RunError, match="no space left"):
        bench.step()
    bench = start(COUNT)
    finish(bench)
    assert column(bench.answers("n"), "n") == [1, 1]


# -- looking at it


def test_a_report_does_not_touch_the_live_state(start: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made by other threads than the one that answers; kernels rearrange their cells when asked."""
    bench = start(COUNT)
    feed(bench, 1, 9)

    def touched(*_: object) -> None:
        raise AssertionError("a report reads the state that the answer loop works on")

    for name in [name for name in vars(FeedState) if not name.startswith("__")]:
        made = property(touched) if isinstance(vars(FeedState)[name], property) else touched
        monkeypatch.setattr(FeedState, name, made)
    status = report(bench.runtime, bench.delivery.status(), {})
    assert status.cells == 1
    assert status.state_bytes > 0


# -- streams


def test_a_stream_may_gain_a_column(start: Open) -> None:
    feed(start(COUNT), 1)
    wider = STREAM.replace("qty BIGINT", "qty BIGINT, side STRING")
    bench = start(COUNT, wider)
    feed(bench, 5)
    finish(bench)
    assert ends(bench.answers("n")) == [4, 8]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("qty BIGINT", "qty INT", "column `qty` was declared otherwise"),
        ("note STRING, ", "", "column `note` was declared otherwise or is gone"),
        ("'unread'", "'elsewhere'", "it reads another source"),
        ("FROM parquet", "FROM json", "it reads another source"),
    ],
)
def test_another_stream_under_the_same_name_is_refused(
    start: Open, before: str, after: str, why: str
) -> None:
    feed(start(COUNT), 1, 9)
    with pytest.raises(RunError, match=why) as refused:
        start(COUNT, STREAM.replace(before, after))
    assert refused.value.code == "stream-changed"
    bench = start(COUNT)
    finish(bench)
    assert ends(bench.answers("n")) == [4, 12]


def test_a_stream_that_goes_and_comes_back_starts_its_queries_after_what_it_had_seen(start: Open) -> None:
    quotes = STREAM.replace("trades", "quotes").replace("'unread'", "'unread too'")
    other = COUNT.replace("trades", "quotes").replace("QUERY n", "QUERY m")
    feed(start(COUNT + other, STREAM + quotes), 1, 9)
    start(other, quotes).step()
    bench = start(COUNT + other, STREAM + quotes)
    feed(bench, 11, 13)
    finish(bench)
    assert ends(bench.answers("n", version=2)) == [16]


def test_a_stream_dropped_while_it_runs_does_not_stop_the_others(start: Open) -> None:
    quotes = STREAM.replace("trades", "quotes").replace("'unread'", "'unread too'")
    other = COUNT.replace("trades", "quotes").replace("QUERY n", "QUERY m")
    bench = start(COUNT + other, STREAM + quotes)
    feed(bench, 1)
    bench.runtime.commit(bench.batch([row("A", 1, 1, "1", 1)], "quotes"))
    bench.change(COUNT)
    feed(bench, 9)
    finish(bench)
    assert ends(bench.answers("n")) == [4, 12]


# -- a home of which a part is damaged, older than the rest, or gone


def run_to_third_batch(start: Open) -> Bench:
    bench = start(COUNT)
    feed(bench, 1)
    feed(bench, 9)
    feed(bench, 13)
    bench.deliver()
    return bench


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ("catalog/*", "catalog/000000000000.json"),
        ("ingest/trades/*", "ingest/trades/000000000000.json"),
        ("ingest/trades/000000000002*", "ingest/trades/000000000002.json"),
        ("ingest/trades/000000000001.json", "ingest/trades/000000000001.json"),
        ("answers/0*", "answers/000000000000.json"),
        ("answers/000000000002.json", None),  # as if it had been killed just before
        ("answers/000000000001.json", "answers/000000000001.json"),
        ("answers/intents/000000000002.json", "answers/intents/000000000002.json"),
        ("snapshots/*", None),  # the log still reaches back
    ],
)
def test_a_home_with_a_part_missing_is_refused_by_name(
    start: Open, tmp_path: Path, lost: str, named: str | None
) -> None:
    run_to_third_batch(start).close()
    for path in (tmp_path / "home").glob(lost):
        if path.is_file():
            path.unlink()
    if named is None:
        bench = start(COUNT)
        finish(bench)
        assert column(bench.answers("n"), "n") == [1, 1, 1]
        return
    with pytest.raises(RunError) as refused:
        start(COUNT)
    assert refused.value.code == "damaged-state"
    assert refused.value.what == f"cannot use {tmp_path / 'home' / named}: it is missing"


@pytest.mark.parametrize(
    "pattern",
    [
        "catalog/000000000000.json",
        "ingest/trades/000000000001.json",
        "ingest/trades/000000000001-*.arrow",
        "answers/000000000002.json",
        "owner.json",
        "weft.json",
        "delivery/n@1.json",
    ],
)
def test_a_damaged_file_is_named(start: Open, tmp_path: Path, pattern: str) -> None:
    run_to_third_batch(start).close()
    (path,) = (tmp_path / "home").glob(pattern)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(RunError) as refused:
        start(COUNT).step()
    assert refused.value.code == "damaged-state"
    assert str(path) in refused.value.what


def test_a_damaged_snapshot_costs_time_not_answers(start: Open, tmp_path: Path) -> None:
    run_to_third_batch(start).close()
    for path in (tmp_path / "home" / "snapshots").glob("*.arrow"):
        path.write_bytes(b"")
    bench = start(COUNT)
    finish(bench)
    assert column(bench.answers("n"), "n") == [1, 1, 1]


def test_a_start_that_is_refused_leaves_the_program_as_it_was(start: Open, tmp_path: Path) -> None:
    run_to_third_batch(start).close()
    (path,) = (tmp_path / "home" / "ingest" / "trades").glob("000000000001-*.arrow")
    data = path.read_bytes()
    path.write_bytes(b"")
    with pytest.raises(RunError):
        start(COUNT + HIGH)
    path.write_bytes(data)
    bench = start(COUNT)
    assert list(bench.runtime.running) == ["n"]
    assert len(bench.runtime.catalog.epochs) == 1


def test_a_home_in_use_is_refused(start: Open, tmp_path: Path) -> None:
    start(COUNT)
    with pytest.raises(RunError, match="in use by another process") as refused:
        Bench(tmp_path, COUNT)
    assert refused.value.code == "home-in-use"


def test_a_home_of_another_version_is_refused(
    start: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(home, "FORMAT", home.FORMAT + 1)
        start(COUNT).close()
    with pytest.raises(RunError) as refused:
        start(COUNT)
    assert refused.value.code == "home-of-other-version"
    assert "--home" in refused.value.help
