"""A program whose load changes while it runs switches its queries by itself, where that pays."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.engine.bench import Bench, Row, row
from weft.engine import census, knowledge, replanning
from weft.engine.account import Account
from weft.engine.calibration import keep
from weft.engine.replanning import Replanning
from weft.share.explain import explain_program
from weft.share.model.constants import SHIPPED, Kind
from weft.share.model.measured import Measured
from weft.share.model.offer import Limits, Offer
from weft.share.reconsider import best_offer

WINDOW = "[RANGE 4 SECONDS SLIDE 2 SECONDS]"
RULES = "".join(
    f"CREATE QUERY r{at} AS SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE sym = 's{at}';\n"
    for at in range(8)
)
ROWS = 3000  # a batch, which is a second of the stream
LIMITS = Limits(gain=0.015, code=0.1, rest=20.0)

pytestmark = pytest.mark.together  # in buckets nobody counts


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "LOOK", 2)
    monkeypatch.setattr(replanning, "LOOK", 2)
    monkeypatch.setattr(replanning, "ENOUGH", 3000)
    monkeypatch.setattr(knowledge, "ENOUGH", 10**9)  # queries are added as if nothing was known


class Load:
    """A program fed with rows of so many customers."""

    def __init__(self, path: Path, limits: Limits = LIMITS, text: str = RULES) -> None:
        self.path, self.limits, self.now, self.batch, self.text = path, limits, 0.0, 0, text
        self.open()

    def open(self) -> None:
        self.bench = Bench(self.path, self.text)
        self.account = Account(self.bench.runtime, clock=lambda: self.now, cpu=lambda: 0.0)
        self.replanning = Replanning(self.limits, clock=lambda: self.now)

    def run(self, batches: int, customers: int, rows: int = ROWS) -> None:
        for _ in range(batches):
            self.bench.ingest(*self._rows(customers, rows))
            self.bench.step()
            self.now, self.batch = self.now + 10.0, self.batch + 1
            self.account.look()
            self.replanning.review(self.bench.runtime, self.account.measured)

    def run_until(self, picks_by: set[tuple[str, ...]], customers: int, most: int = 30) -> int:
        """So many seconds it had run when it was switched to these."""
        while self.picks_by != picks_by:
            self.run(1, customers)
            assert self.batch < most
        return self.batch

    def _rows(self, customers: int, rows: int) -> Iterator[Row]:
        for at in range(rows):
            yield row(f"s{at % customers}", 1.0, 1, "a", self.batch + at / rows)

    @property
    def picks_by(self) -> set[tuple[str, ...]]:
        return {query.picks_by for query in self.bench.runtime.running.values()}

    @property
    def reasons(self) -> list[str]:
        return [epoch.reason for epoch in self.bench.runtime.catalog.epochs[1:]]

    def counts(self, name: str) -> dict[float, int]:
        self.bench.drain()
        self.bench.deliver()
        return {each["window_end"].timestamp(): each["n"] for each in self.bench.answers(name)}


def test_one_customer_becomes_thousands_and_the_key_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load = Load(tmp_path)
    assert load.picks_by == {("sym",)}  # eight conditions, and nothing is known
    load.run(8, customers=1)
    assert load.picks_by == {("sym",)}
    assert not load.reasons
    with caplog.at_level(logging.INFO, "weft"):
        load.run(12, customers=ROWS)
    assert load.picks_by == {()}
    switched, settled = load.reasons
    assert switched.startswith("switched: 8 queries from key sym to rows asked: ")
    assert settled == "settled"
    (said,) = caplog.messages
    assert said.startswith("stream trades is planned anew: 8 queries from key sym to rows asked: ")
    before = {2: 2 * ROWS, 4: 4 * ROWS, 6: 4 * ROWS, 8: 4 * ROWS, 10: 2 * ROWS + 2}
    assert load.counts("r0") == before | {12: 4, 14: 4, 16: 4, 18: 4, 20: 4, 22: 2}
    load.bench.close()


def test_where_no_row_has_passed_there_is_nothing_to_say(tmp_path: Path) -> None:
    load = Load(tmp_path, text=RULES.replace(";", " AND qty > 1000;"))
    assert load.picks_by == {("sym",)}
    load.run(8, customers=10)
    assert load.bench.runtime.groups == {"trades": {("sym",): 0}}
    assert not load.reasons
    load.bench.close()


def test_a_price_that_cannot_be_told_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(replanning, "best_offer", broken)
    load = Load(tmp_path)
    load.run(4, customers=ROWS)
    assert load.picks_by == {("sym",)}
    assert set(caplog.messages) == {"stream trades: whether another plan is better cannot be told"}
    load.bench.close()


def test_what_happened_is_told(tmp_path: Path) -> None:
    load = Load(tmp_path)
    load.run(3, customers=ROWS)
    (under_way,) = load.account.measured().switches
    assert under_way.queries == tuple(f"r{at}" for at in range(8))
    assert not under_way.settled
    runtime, measured = load.bench.runtime, load.account.measured()
    assert Measured.from_json(json.loads(json.dumps(measured.to_json()))) == measured
    said = explain_program(runtime.program, "r3", "text", None, measured, plan=runtime.woven)
    assert "  switched to that in windows that start after 1970-01-01 00:00:02.999" in said
    assert "    those before are still to be answered, from f1 by sym, from rows; picks sym = 's3'" in said
    assert "  switched while it ran\n" in said
    assert "8 queries from key sym to rows asked: " in said
    assert said.endswith("; windows from before are still to be answered")
    text = explain_program(runtime.program, "r3", "json", None, measured, plan=runtime.woven)
    described = json.loads(text)
    assert described["measured"]["switches"][0]["why"] == under_way.why
    query = described["shared"]["streams"][0]["queries"][3]
    assert query["switched"]["earlier"] == {"feed": "f1", "picks": "sym = 's3'"}
    load.run(9, customers=ROWS)
    (done,) = load.account.measured().switches
    assert done.settled
    assert done.why == under_way.why
    load.bench.close()


def test_a_program_that_changed_meanwhile_is_not_switched_by_what_was_found_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    load, offered = Load(tmp_path), []

    def best_then_change(*given: object) -> Offer | None:
        """The program changes after every offer: `r0` counts other rows, and the others stay."""
        found = best_offer(*given)  # type: ignore[arg-type]
        offered.append(found)
        load.bench.change(RULES.replace("'s0'", f"'s{10 + len(offered)}'"))
        return found

    monkeypatch.setattr(replanning, "best_offer", best_then_change)
    with caplog.at_level(logging.INFO, "weft"):
        load.run(8, customers=ROWS)
    assert len([offer for offer in offered if offer is not None]) >= LIMITS.looks
    assert not caplog.messages
    assert set(load.reasons) == {"program"}
    assert load.picks_by == {("sym",)}
    load.bench.close()


def test_after_a_switch_there_is_none_for_a_while_and_then_back(tmp_path: Path) -> None:
    load = Load(tmp_path)
    away = load.run_until({()}, customers=ROWS)
    load.run(6, customers=ROWS)
    back = load.run_until({("sym",)}, customers=8)
    assert back - away > LIMITS.rest
    assert load.reasons[2].startswith("switched: 8 queries from rows asked to key sym: ")
    hasty = Load(tmp_path / "hasty", replace(LIMITS, rest=0.0))
    away = hasty.run_until({()}, customers=ROWS)
    hasty.run(6, customers=ROWS)
    assert hasty.run_until({("sym",)}, customers=8) - away < LIMITS.rest
    load.bench.close()
    hasty.bench.close()


@pytest.mark.parametrize(
    ("customers", "rows", "limits"),
    [
        (8, ROWS, LIMITS),  # the key is right
        (ROWS, 300, LIMITS),  # too few rows tell
        (ROWS, ROWS, Limits(code=1e6)),  # would never be paid for
    ],
)
def test_what_does_not_pay_is_left_alone(tmp_path: Path, customers: int, rows: int, limits: Limits) -> None:
    load = Load(tmp_path, limits)
    load.run(12, customers, rows)
    assert load.picks_by == {("sym",)}
    assert not load.reasons
    load.bench.close()


def test_a_restart_in_the_middle_goes_on(tmp_path: Path) -> None:
    load = Load(tmp_path)
    load.run(3, customers=ROWS)
    load.bench.close()
    load.open()
    assert load.picks_by == {()}
    assert all(tap.earlier for plan in load.bench.runtime.plan.streams for tap in plan.taps)
    load.run(9, customers=ROWS)
    assert not any(tap.earlier for plan in load.bench.runtime.plan.streams for tap in plan.taps)
    counts = load.counts("r7")
    assert counts == {2: 2} | dict.fromkeys((4, 6, 8, 10, 12), 4) | {14: 2}
    load.bench.close()


LONG = """
CREATE QUERY q{0} AS SELECT sym, MAX(qty) AS n FROM trades [RANGE {0} SECONDS SLIDE 4 SECONDS] GROUP BY sym;
"""
SHORT = "CREATE QUERY short AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 500 MILLISECONDS] GROUP BY sym;"


def test_queries_get_slices_of_their_own_where_reading_slices_is_dear(tmp_path: Path) -> None:
    text = "".join([*(LONG.format(seconds) for seconds in (8, 12, 16, 20)), SHORT])
    load = Load(tmp_path / "woven", text=text)
    still = Load(tmp_path / "still", Limits(gain=2.0), text)
    for each in (load, still):
        keep(each.bench.runtime.home.path, replace(SHIPPED, block=1e-2, place=dict.fromkeys(Kind, 0.0)))
        each.run(8, customers=5)
    assert load.picks_by == {(), ("strand(1)",)}
    assert still.picks_by == {()}
    assert load.reasons[0].startswith("switched: 1 query from rows asked to rows asked in strand 1: ")
    load.bench.close()
    load.open()  # it goes on as it was
    for each in (load, still):
        each.run(12, customers=5)
    (plan,) = load.bench.runtime.plan.streams
    assert {feed.strand for feed in plan.feeds} == {0, 1}
    assert len(plan.roots) == 1
    for name in ("q8", "q20", "short"):
        assert load.counts(name) == still.counts(name)
        assert load.bench.answers(name) == still.bench.answers(name)
    load.bench.close()
    still.bench.close()
