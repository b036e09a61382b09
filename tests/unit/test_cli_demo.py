"""`weft demo` and the ticking answers of its board."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tests.unit.cli_fakes import NOON, SECOND, FakeSession, a_query, a_status
from weft.cli import cli
from weft.commands import demo
from weft.lang.parse import parse_program
from weft.lang.statements import CreateQuery, Sink
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.results import store
from weft.terminal.board import Tick
from weft.terminal.ticks import READS, Ticker, Watched, newest, spread

TIME = pa.timestamp("us", "UTC")
NOW = datetime(2023, 11, 15, 12, 30, tzinfo=UTC)
ONE = Watched("vwap", ("symbol",), ranked=False)


@pytest.fixture(scope="module")
def program():
    return optimize_program(bind_program(parse_program(demo.shipped().read_text(), "market.sql")))


def rows(end: int, **columns: list[object]) -> pa.Table:
    length = len(next(iter(columns.values())))
    return pa.table({"window_end": pa.array([NOON + end * SECOND] * length, TIME)} | columns)


# -- which queries tick


def test_the_shipped_program_has_every_query_that_the_demo_wants_to_show(program) -> None:
    assert set(demo.SHOWN) <= {query.name for query in program.queries}
    assert len(program.queries) >= 100


def test_the_queries_named_come_first_then_others_from_all_over(program) -> None:
    chosen = spread(program, ("vwap_1m", "no_such", "tape_10s"), 12)
    names = [one.name for one in chosen]
    assert names[:2] == ["vwap_1m", "tape_10s"]
    assert len(set(names)) == 12
    at = [[query.name for query in program.queries].index(name) for name in names[2:]]
    assert at == sorted(at)
    assert at[-1] > len(program.queries) * 0.8


def test_group_keys_and_rankings_are_known_from_the_plan(program) -> None:
    chosen = {one.name: one for one in spread(program, demo.SHOWN, 26)}
    assert chosen["vwap_1m"] == Watched("vwap_1m", ("symbol",), ranked=False)
    assert chosen["top_volume"].ranked
    assert chosen["tape_10s"].keys == ()


def test_a_small_program_is_shown_whole_what_goes_elsewhere_last(program) -> None:
    first, *rest = program.queries[:3]
    few = replace(program, queries=(replace(first, sink=Sink("kafka")), *rest))
    assert [one.name for one in spread(few, (), 12)] == [rest[0].name, rest[1].name, first.name]


# -- what a tick says


def test_a_tick_stays_with_its_group_and_knows_its_trend() -> None:
    first = newest(ONE, rows(0, symbol=["A", "B"], vwap=[1.5, 9.0]), None)
    assert first == Tick("vwap", NOON, "A", (("vwap", "1.5"),), 0)
    second = newest(ONE, rows(1, symbol=["0", "A"], vwap=[7.0, 2.5]), first)
    assert (second.group, second.values, second.trend) == ("A", (("vwap", "2.5"),), 1)
    third = newest(ONE, rows(2, symbol=["0", "A"], vwap=[7.0, 2.25]), second)
    assert third.trend == -1


def test_a_tick_whose_group_is_gone_takes_the_first_and_has_no_trend() -> None:
    before = Tick("vwap", NOON, "A", (("vwap", "1.5"),), 1)
    tick = newest(ONE, rows(1, symbol=["B", "C"], vwap=[2.5, 3.0]), before)
    assert (tick.group, tick.trend) == ("B", 0)


def test_a_ranking_shows_its_first() -> None:
    ranked = Watched("top", ("symbol",), ranked=True)
    before = Tick("top", NOON, "A", (("volume", "10"),))
    assert newest(ranked, rows(1, symbol=["B", "A"], volume=[20, 12]), before).group == "B"


def test_only_the_last_window_counts() -> None:
    both = pa.concat_tables([rows(0, symbol=["A"], vwap=[1.0]), rows(1, symbol=["B"], vwap=[2.0])])
    before = Tick("vwap", NOON, "A", (("vwap", "1"),))
    assert newest(ONE, both, before).group == "B"


def test_a_standing_filter_shows_its_last_row() -> None:
    tape = Watched("tape", (), ranked=False)
    tick = newest(tape, pa.table({"symbol": ["A", "B"], "qty": [1, 2]}), None)
    assert tick == Tick("tape", None, "", (("symbol", "B"), ("qty", "2")))


def test_a_row_of_a_relation_is_shown_with_when_it_begins() -> None:
    text = """CREATE STREAM a (id INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS FROM socket;
        CREATE QUERY pairs AS SELECT x.id FROM a [RANGE 1 MINUTE] x JOIN a [RANGE 1 MINUTE] y ON x.id = y.id;
        CREATE QUERY seen AS SELECT DISTINCT id FROM a [RANGE 1 MINUTE] EMIT CHANGES"""
    pairs, seen = spread(optimize_program(bind_program(parse_program(text, "two.sql"))), ["pairs", "seen"], 2)
    begun = pa.array([NOON, NOON + SECOND], TIME)
    tick = newest(pairs, pa.table({"valid_from": begun, "valid_to": begun, "id": [1, 2]}), None)
    assert (tick.window_end, tick.values) == (NOON + SECOND, (("id", "2"),))
    tick = newest(seen, pa.table({"change": ["+", "-"], "changed_at": begun, "id": [1, 2]}), None)
    assert (tick.window_end, tick.values) == (NOON + SECOND, (("change", "-"), ("id", "2")))


def test_values_are_short() -> None:
    odd = rows(
        0, symbol=[None], a=[1234567], b=[0.1234567], c=[12345.678], d=[None], e=[True], f=[[1, 2]], g=[NOW]
    )
    assert [value for _, value in newest(ONE, odd, None).values] == [
        "1,234,567", "0.123457", "12,345.68", "null", "true", "[1 2]", "12:30:00",
    ]  # fmt: skip


# -- reading them


def test_a_ticker_reads_a_few_at_a_time_and_only_what_is_new(tmp_path, monkeypatch) -> None:
    watched = tuple(Watched(f"q{at}", ("symbol",), ranked=False) for at in range(READS + 2))
    for one in watched:
        directory = store(tmp_path, one.name, 1).directory
        directory.mkdir(parents=True)
        pq.write_table(rows(0, symbol=["A"], vwap=[1.0]), directory / "part-000000000000.parquet")
    status = a_status(queries=tuple(a_query(one.name) for one in watched))
    ticker = Ticker(tmp_path, watched)
    assert sum(bool(tick.values) for tick in ticker.ticks(status)) == READS
    assert sum(bool(tick.values) for tick in ticker.ticks(status)) == READS + 2
    grown = store(tmp_path, "q3", 1).directory / "part-000000000007.parquet"
    pq.write_table(rows(1, symbol=["A"], vwap=[2.0]), grown)
    assert ticker.ticks(status)[3] == Tick("q3", NOON + SECOND, "A", (("vwap", "2"),), 1)
    monkeypatch.setattr("weft.terminal.ticks.last", lambda dataset, rows: pytest.fail("nothing is new"))
    ticker.ticks(status)


def test_a_query_without_answers_does_not_tick(tmp_path) -> None:
    ticker = Ticker(tmp_path, (Watched("q", (), ranked=False),))
    assert ticker.ticks(a_status(queries=(a_query("q"),))) == (Tick("q"),)


# -- the verb


def test_some_queries_of_a_program() -> None:
    text = demo.shipped().read_text()
    assert demo.some_queries(text, None) == text
    whole = parse_program(text, "market.sql")
    few = parse_program(demo.some_queries(text, 3), "market.sql")
    assert {one.name for one in few if isinstance(one, CreateQuery)} == set(demo.SHOWN[:3])
    assert set(few) <= set(whole)
    most = parse_program(demo.some_queries(text, 60), "market.sql")
    assert sum(isinstance(one, CreateQuery) for one in most) == 60
    assert set(most) <= set(whole)
    assert set(demo.SHOWN) <= {one.name for one in most}


def test_it_ends_by_itself_and_says_what_to_try_next(tmp_path, monkeypatch) -> None:
    session = FakeSession(
        tmp_path, reports=[a_status(queries=(a_query("vwap_1m"), a_query("other", answers=9999)))]
    )
    monkeypatch.setattr(demo, "Session", lambda **options: session)
    result = CliRunner().invoke(cli, ["demo", "--seconds", "1", "--home", str(tmp_path)])
    assert result.exit_code == 0
    assert session.calls[1:] == [("start", {"trigger": demo.TRIGGER}), "stop", "close"]
    lines = result.stdout.splitlines()
    assert lines[0].startswith("84,000 rows in ")
    assert "63 partials, not 412; 163 x fewer updates" in lines[1]
    assert lines[2] == f"answers: {tmp_path / 'results'}"
    assert lines[-4] == f"  weft results vwap_1m --home {tmp_path} --last 10"
    explained = Path(lines[-3].split()[2])
    assert explained.exists()


def test_without_a_home_it_makes_one_that_stays(tmp_path, monkeypatch) -> None:
    homes = []
    monkeypatch.setattr(demo.tempfile, "tempdir", str(tmp_path))

    def make(**options):
        homes.append(options["home"])
        return FakeSession(options["home"])

    monkeypatch.setattr(demo, "Session", make)
    CliRunner().invoke(cli, ["demo", "--seconds", "1"])
    assert homes[0].parent == tmp_path
    assert homes[0].is_dir()
