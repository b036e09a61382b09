"""When `auto` moves the cells: series of steps as they may come, and what it makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from weft.engine.placement import Auto, Limits, Stepped

pytestmark = pytest.mark.together

LIMITS = Limits()


@dataclass(frozen=True)
class Load:
    """Batches of a stream, so many seconds apart, and what they cost in the driver."""

    minutes: float
    rows: int = 10_000  # of a batch
    every: float = 1.0  # seconds from one batch to the next
    seconds: float = 0.1  # of a step in the driver
    there: float = 0.2  # and on the executors
    cells: int = 1_000_000
    free: int = 16


class Run:
    """The clock and the counters of a run, while loads follow each other."""

    def __init__(self, auto: Auto | None = None) -> None:
        self.auto = auto or Auto(LIMITS)
        self.at, self.rows = 100.0, 0

    def moves(self, *loads: Load) -> list[tuple[int, str]]:
        """At which second of the loads cells were moved, and why."""
        began = self.at
        found = [(round(step.at - began), self.auto.judge(step)) for step in self._steps(loads)]
        return [(at, why) for at, why in found if why is not None]

    def _steps(self, loads: Iterable[Load]) -> Iterator[Stepped]:
        for load in loads:
            until = self.at + 60 * load.minutes
            while self.at < until:
                seconds = load.there if self.auto.there else load.seconds
                batches = max(
                    1, round(seconds / load.every)
                )  # those that came meanwhile are taken in at once
                self.at += max(load.every, seconds)
                self.rows += load.rows * batches
                yield Stepped(self.at, seconds, self.rows, load.cells, load.free)


BUSY = Load(5, seconds=0.95)
HEAVY = Load(5, every=2.0, seconds=1.8, there=0.6)


def test_more_cells_than_the_driver_holds_go_at_once() -> None:
    assert Run().moves(Load(0.1), Load(1, cells=20_000_001)) == [
        (7, "20,000,001 cells, more than 20,000,000")
    ]


@pytest.mark.parametrize(
    "load",
    [
        Load(60),
        Load(60, every=0.1, seconds=0.09),  # always busy, with steps that are shorter than asking executors
        Load(60, every=2.0, seconds=1.4),  # long steps, with time to spare
        Load(60, every=2.0, seconds=1.8, free=2),  # two cores are hardly faster than the driver
        Load(60, every=2.0, seconds=1.8, free=0),  # others need them all
        Load(60, every=60.0, seconds=1.0),
    ],
)
def test_cells_stay_where_executors_would_not_help(load: Load) -> None:
    assert Run().moves(load) == []


def test_a_driver_that_does_not_keep_up_gives_the_cells_away() -> None:
    assert Run().moves(HEAVY) == [
        (62, "steps took 90% of 60 s, 1.8 s each, with 16 cores of executors free"),
    ]


def test_a_minute_of_it_is_not_enough_when_steps_are_rare() -> None:
    ((at, _),) = Run().moves(Load(60, every=60.0, seconds=50.0, there=5.0))
    assert at == 6 * 60


def test_a_short_burst_moves_nothing() -> None:
    burst = Load(0.5, every=2.0, seconds=1.9)
    assert Run().moves(*[Load(2), burst] * 20) == []


def test_cells_come_back_when_rows_have_fallen_for_long() -> None:
    run = Run()
    run.moves(HEAVY)
    assert run.moves(Load(30, rows=5_000, every=2.0)) == []  # the driver would be at it half the time
    ((at, why),) = run.moves(Load(30, rows=1_000, every=2.0))
    assert at > 200
    assert why.endswith("rows a second and 1,000,000 cells by now")
    assert not run.auto.there


def test_cells_come_back_when_half_of_them_are_gone() -> None:
    run = Run()
    run.moves(Load(1, cells=21_000_000))
    assert run.moves(Load(60, cells=11_000_000)) == []
    assert len(run.moves(Load(60, cells=9_000_000))) == 1


def test_rows_that_go_up_and_down_do_not_move_cells_all_the_time() -> None:
    quiet = Load(4, rows=500, every=2.0)
    moves = Run().moves(*[HEAVY, quiet] * 20)
    assert len(moves) == 1


def test_each_return_takes_fewer_rows_than_the_one_before() -> None:
    """Steps that cost the same however few rows there are: halving the rows does not halve them."""
    dear = [Load(30, rows=10_000 >> at, every=2.0, seconds=1.8, there=0.5) for at in range(8)]
    assert len(Run().moves(*dear)) <= 7


def test_a_move_that_gains_nothing_is_taken_back_for_good() -> None:
    run = Run()
    moves = run.moves(*[Load(60, every=2.0, seconds=1.8, there=1.9)] * 3)
    assert [at for at, _ in moves] == [62, 664]
    assert moves[1][1] == "steps took 95% of the time on the executors, as they did before"
    assert len(run.moves(Load(1, cells=30_000_000))) == 1  # but too many cells are too many


def test_catching_up_faster_is_a_gain() -> None:
    """With a backlog there is always a step to do; what counts is how many rows that is."""
    run = Run()
    run.moves(Load(2, rows=10_000, every=2.0, seconds=2.0))
    assert run.moves(Load(60, rows=20_000, every=2.0, there=2.0)) == []
    assert run.auto.there


def test_a_run_that_left_too_many_cells_starts_on_the_executors() -> None:
    assert not Auto(LIMITS).starts_there(20_000_000)
    auto = Auto(LIMITS)
    assert auto.starts_there(20_000_001)
    assert len(Run(auto).moves(Load(60, cells=1_000_000))) == 1
