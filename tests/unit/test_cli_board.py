"""The board, drawn to text."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.unit.cli_fakes import NOON, SECOND, a_query, a_status, a_stream
from weft.terminal.board import Tick, View, board, starting
from weft.terminal.pace import Rates

SIZES = [(80, 24), (100, 30), (140, 40), (200, 50)]


def draw(view: View, width: int, height: int) -> str:
    console = Console(file=io.StringIO(), record=True, width=width, height=height)
    console.print(board(view, width, height))
    return console.export_text()


def a_view(queries: int = 100, ticks: int = 26, **changes: object) -> View:
    made = tuple(
        Tick(f"vwap_{at}", NOON, "ACME", (("vwap", f"{100 + at}.25"), ("trades", "31")), (-1, 0, 1)[at % 3])
        for at in range(ticks)
    )
    status = a_status(queries, **changes)
    return View(
        "market", status, Rates(2000.0, 100.0, 8123.0, tuple(map(float, range(60)))), 23.4, 37.0, made
    )


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_it_fills_the_screen_and_no_more(width, height) -> None:
    lines = draw(a_view(), width, height).splitlines()
    assert len(lines) == height
    assert max(map(len, lines)) == width


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_everything_is_said_at_every_size(width, height) -> None:
    text = draw(a_view(), width, height)
    for said in (
        "100 queries", "running", "0:00:23  0:00:37 left",
        "2,013", "84,000", "12:00:00", "5.00 s",
        "8,123", "60,000", "1,200", "0.38 s",
        "123,456", "12.3 MB", "100 ok",
        "63", "412", "6.5 x less", "14,210", "163 x less",
        "ACME  vwap 100.25 ▼  trades 31", "vwap 102.25 ▲",
        "Ctrl-C",
    ):  # fmt: skip
        assert said in text, said


def test_a_small_screen_shows_a_dozen_queries_and_a_large_one_all_that_tick() -> None:
    small, large = draw(a_view(), 80, 24), draw(a_view(), 140, 40)
    assert "vwap_11 " in small
    assert "vwap_12 " not in small
    assert "vwap_25 " in large


def test_an_answer_that_just_fits_is_not_cut() -> None:
    exact = Tick("vwap_0", NOON, "A", (("volume", "1,234,567,890"),), 1)
    view = View("market", a_status(1), Rates(), 1.0, None, (exact,))
    for width in range(60, 80):
        line = next(line for line in draw(view, width, 24).splitlines() if "vwap_0" in line)
        assert "▲…" not in line


def test_no_cell_is_cut_short_at_eighty_columns() -> None:
    assert "…" not in draw(a_view(), 80, 24)


def test_a_query_without_an_answer_says_what_it_waits_for() -> None:
    assert "waits for trades to reach 12:00:12" in draw(a_view(2, ticks=0), 80, 24)


def test_a_query_whose_answers_go_elsewhere_says_how_many_there_are() -> None:
    view = View("market", a_status(queries=(a_query("out", sink="kafka"),)), Rates(), 1.0)
    assert "600 answers into kafka" in draw(view, 80, 24)


def test_what_fails_is_told_in_the_last_line_and_beside_the_query() -> None:
    broken = a_query("ratio", state="failed", error="division by zero")
    stuck = a_query("out", sink="jdbc", sink_state="retrying", sink_error="refused")
    view = View("market", a_status(queries=(broken, stuck)), Rates(), 1.0)
    text = draw(view, 100, 24)
    assert "failed: division by zero" in text
    assert "1 ill" in text
    assert text.splitlines()[-1].startswith(" query `ratio` failed: division by zero  (and 1 more")


def test_counts_of_bad_rows_are_added_up() -> None:
    status = a_status(streams=(a_stream(no_time=1, ahead=2, corrupt=4),), queries=(a_query(late=8, dead=16),))
    text = draw(View("market", status, Rates(), 1.0), 80, 24)
    assert "late rows            8" in text
    assert "dead letters        23" in text


def test_before_the_first_row_there_are_dashes() -> None:
    status = a_status(streams=(a_stream(rows=0, max_time=None, watermark=None),), latency_seconds=0.0)
    text = draw(View("market", status, Rates(), 1.0), 80, 24)
    assert "watermark             -" in text
    assert "lag                   -" in text
    assert "warming up" in text.splitlines()[0]


def test_several_streams_are_counted_together() -> None:
    status = a_status(streams=(a_stream("trades"), a_stream("quotes", watermark=NOON - 60 * SECOND)))
    text = draw(View("market", status, Rates(), 1.0), 80, 24)
    assert "2 streams" in text
    assert "168,000" in text
    assert "11:59:00" in text  # the least watermark


def test_while_spark_starts_it_says_so() -> None:
    console = Console(file=io.StringIO(), record=True, width=80)
    console.print(starting("market"))
    assert "starting Spark" in console.export_text()
