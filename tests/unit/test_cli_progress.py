"""Figures, rates, plain lines, following a run and stopping it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.unit.cli_fakes import NOON, SECOND, FakeSession, a_query, a_status, a_stream
from weft.errors import RunError
from weft.terminal import figures, progress
from weft.terminal.pace import Pace, Rates, Totals, lag, troubles
from weft.terminal.progress import Interrupts, Plain, Ran, Silent, follow, plain_line, summary


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (figures.count(0), "0"),
        (figures.count(1_234_567), "1,234,567"),
        (figures.count(12_345_678), "12.3 M"),
        (figures.count(4_200_000_000), "4.2 G"),
        (figures.many(1, "row"), "1 row"),
        (figures.many(1234, "query", "queries"), "1,234 queries"),
        (figures.times(5.64), "5.6 x"),
        (figures.times(163.3), "163 x"),
        (figures.size(999), "999 B"),
        (figures.size(12_345_678), "12.3 MB"),
        (figures.size(123_456_789), "123 MB"),
        (figures.span(0.384), "0.38 s"),
        (figures.span(12.3), "12 s"),
        (figures.span(303), "5 min 3 s"),
        (figures.span(7500), "2 h 5 min"),
        (figures.span(3600), "1 h"),
        (figures.span(-2), "-2.00 s"),
        (figures.clock(3723.9), "1:02:03"),
        (figures.of_day(NOON), "12:00:00"),
        (figures.of_day(None), "-"),
        (figures.bar(1, 4, 8), "██······"),
        (figures.bar(1, 10_000, 8), "█·······"),
        (figures.bar(0, 0, 3), "···"),
        (figures.spark_line([1, 4, 8], 5), "  ▁▄█"),
        (figures.spark_line([0, 0], 2), "  "),
    ],
)
def test_figures(shown, text) -> None:
    assert shown == text


def with_rows(rows: int, answers: int = 0):
    return a_status(streams=(a_stream(rows=rows),), queries=(a_query(answers=answers, windows=0),))


def test_rates_look_back_a_few_seconds_only() -> None:
    pace = Pace()
    assert pace.take(0.0, with_rows(0)).rows == 0
    pace.take(1.0, with_rows(100_000))
    for at in range(2, 12):
        rates = pace.take(float(at), with_rows(100_000 + 50 * at, answers=10 * at))
    assert rates.rows == 50
    assert rates.answers == 10
    assert len(rates.history) == 12


def test_the_lag_is_behind_the_clock_near_it_and_else_behind_the_newest_row() -> None:
    assert lag(a_status()) == (5.0, "the clock")
    assert lag(a_status(updated=NOON / SECOND + 1e6)) == (2.0, "the newest row")
    assert lag(a_status(updated=NOON / SECOND - 60)) == (2.0, "the newest row")
    assert lag(a_status(streams=(a_stream(watermark=None),))) is None


def test_troubles_name_streams_queries_and_sinks() -> None:
    status = a_status(
        streams=(a_stream(state="failed", error="gone"),),
        queries=(
            a_query("fine"),
            a_query("ratio", state="failed", error="division by zero"),
            a_query("out", sink="jdbc", sink_state="failed", sink_error="refused"),
        ),
    )
    assert troubles(status) == [
        "stream `trades` failed: gone",
        "query `ratio` failed: division by zero",
        "sink jdbc of `out` failed: refused",
    ]
    assert troubles(a_status()) == []


def test_a_plain_line() -> None:
    assert plain_line(a_status(), Rates(2013.0, 1.0, 812.0), 12.0) == (
        "0:00:12  84,000 rows (2,013/s)  watermark 12:00:00 (5.00 s behind the clock)  24 windows  "
        "1,200 answers (812/s)  latency 0.38 s"
    )


def test_a_plain_line_tells_of_bad_rows_and_of_no_watermark() -> None:
    status = a_status(
        streams=(a_stream(watermark=None, corrupt=3),),
        queries=(a_query(late=1, dead=2),),
        latency_seconds=0.0,
    )
    line = plain_line(status, Rates(), 0.0)
    assert "no watermark yet" in line
    assert line.endswith("1 late  2 dead  3 bad rows")


def test_totals_and_summary() -> None:
    status = a_status(queries=(a_query(dead=2), a_query("b", late=5)))
    assert Totals.of(status).answers == 1200
    assert summary(Ran(None, status, 61.0)) == (
        "84,000 rows in 1 min 1 s: 24 windows of 2 queries answered with 1,200 rows; 5 late; 2 failing"
    )


def test_a_summary_tells_of_this_run_only() -> None:
    before, after = with_rows(1000, answers=10), with_rows(1500, answers=17)
    assert summary(Ran(before, after, 5.0)) == "500 rows in 5.00 s: 0 windows of 1 query answered with 7 rows"
    # A query of the run before may have gone, with all its answers.
    assert Ran(with_rows(1000, answers=10), with_rows(1500, answers=3), 5.0).done.answers == 0


def test_plain_progress_tells_each_trouble_once(capsys) -> None:
    ill = a_status(queries=(a_query(state="failed", error="division by zero"),))
    with Plain() as shown:
        shown.show(ill, 1.0, None)
        shown.show(ill, 2.0, None)
    text = capsys.readouterr().err
    assert text.count("division by zero") == 1
    assert text.count(" rows (") == 2


def test_follow_gives_the_report_the_program_left(tmp_path) -> None:
    session = FakeSession(tmp_path)
    last = a_status(state="stopped", steps=99)
    session.calls = calls = []
    session.on_start = lambda: (tmp_path / "status.json").write_text(last.to_json()) and None
    with Interrupts() as interrupts:
        ran = follow(session, session.start, Silent(), interrupts)
    assert ran.status == last
    assert 0 <= ran.seconds < 5
    assert calls == [("start", {}), "stop"]


def test_follow_stops_what_fails_and_raises_it(tmp_path) -> None:
    session = FakeSession(tmp_path, ends_with=RunError("stream-failed", "the source is gone"))
    with Interrupts() as interrupts, pytest.raises(RunError, match="the source is gone"):
        follow(session, session.start, Silent(), interrupts)
    assert session.calls[-1] == "stop"


class Often(Silent):
    every = 0.01


def test_follow_ends_after_the_given_seconds_counted_from_the_first_rows(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(progress, "POLL", 0.0)
    shown = []
    often = Often()
    monkeypatch.setattr(often, "show", lambda status, elapsed, left: shown.append(left))
    session = FakeSession(tmp_path, reports=[with_rows(0)] * 20 + [with_rows(1)])
    monkeypatch.setattr(session, "wait", lambda timeout: False)
    with Interrupts() as interrupts:
        ran = follow(session, session.start, often, interrupts, seconds=0.1)
    assert 0.3 <= ran.seconds < 5
    assert shown[:20] == [0.1] * 20
    assert shown[-1] <= 0


def test_follow_does_not_wait_for_rows_for_ever(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(progress, "POLL", 0.0)
    monkeypatch.setattr(progress, "WARM_UP", 0.1)
    session = FakeSession(tmp_path, reports=[with_rows(0)])
    monkeypatch.setattr(session, "wait", lambda timeout: False)
    with Interrupts() as interrupts:
        ran = follow(session, session.start, Often(), interrupts, seconds=0.1)
    assert 0.2 <= ran.seconds < 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_cleanly(tmp_path, capsys, number) -> None:
    session = FakeSession(tmp_path, reports=[a_status()] * 1000)
    signals = [number]
    session.on_report = lambda: os.kill(os.getpid(), signals.pop()) if signals else None
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        # As Spark does when it starts: the signal is someone else's for a while.
        follow(session, lambda: signal.signal(number, signal.SIG_DFL), Plain(), interrupts)
    assert interrupts.signal == number
    assert session.calls == ["stop"]
    assert "stopping" in capsys.readouterr().err
    assert signal.getsignal(number) == before


def test_ctrl_c_while_spark_starts(tmp_path) -> None:
    session = FakeSession(tmp_path)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        follow(session, interrupted, Silent(), interrupts)
    assert session.calls == ["stop"]


def test_the_second_signal_kills() -> None:
    script = (
        "import time\nfrom weft.terminal.progress import Interrupts\n"
        "with Interrupts():\n    print('ready', flush=True)\n    time.sleep(2)\n"
        "    print('still there', flush=True)\n    time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "still there\n"
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert child.wait(20) == 130
        assert time.monotonic() - began < 20
