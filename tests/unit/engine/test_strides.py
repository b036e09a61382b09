"""When steps are due: the batches of a run on a clock of its own, and at which seconds it steps."""

from __future__ import annotations

import pytest

from weft.engine.strides import ENOUGH, LONGEST, SPAN, STRIDE, Strides
from weft.times import BEGINNING, HOUR, SECOND

pytestmark = pytest.mark.together


class Run:
    """A stream whose batches come a second apart; event time goes `speed` times as fast as the clock."""

    def __init__(self, once: bool = False, start: int = 1000 * HOUR) -> None:
        self.now, self.event = 50.0, start
        self.strides = Strides(once, lambda: self.now)

    def steps(self, seconds: int, speed: float = 1.0, costs: float = 0.25, cells: int = 0) -> list[int]:
        """After how many seconds it stepped; every batch has so many cells."""
        stepped, began, free, waiting = [], self.now, self.now, 0
        for second in range(seconds):
            self.now, self.event = began + second, self.event + int(speed * SECOND)
            waiting += cells
            if self.now >= free and self.strides.due({"s": self.event}, waiting):
                waiting = 0
                stepped.append(second)
                self.now += costs
                self.strides.stepped(costs)
                free = self.now
        self.now = began + seconds
        return stepped


def test_a_live_stream_steps_with_every_batch() -> None:
    assert Run().steps(60) == list(range(60))


def test_a_run_over_what_is_there_strides_from_the_first_batch_on() -> None:
    assert Run(once=True).steps(13, costs=0.25) == [5, 7, 9, 11]  # LONGEST, then STRIDE * 0.25 s


def test_a_stride_has_a_longest() -> None:
    assert Run(once=True).steps(16, costs=3.0) == [5, 10, 15]
    assert STRIDE * 3.0 > LONGEST


def test_a_step_that_takes_longer_is_followed_by_the_next() -> None:
    assert Run(once=True).steps(20, costs=7.0) == [5, 12, 19]


def test_the_shortest_of_the_last_steps_tells_what_each_costs() -> None:
    run = Run(once=True)
    run.steps(6, costs=0.25)
    assert run.steps(12, costs=1.5) == [1, 3, 5, 7, 9, 11]  # a large step is not waited for longer


def test_many_cells_are_folded_at_once() -> None:
    assert Run(once=True).steps(12, costs=0.9, cells=ENOUGH // 2) == [1, 3, 5, 7, 9, 11]


def test_rows_of_the_past_are_known_by_event_time() -> None:
    run = Run()
    run.steps(12)
    caught = run.steps(24, speed=30.0)
    assert caught[-1] - caught[-2] == 2
    back = run.steps(24)
    assert back[-6:] == [18, 19, 20, 21, 22, 23]


def test_a_stream_slightly_ahead_of_the_clock_is_live() -> None:
    assert Run().steps(60, speed=1.5) == list(range(60))


def test_the_first_row_is_no_leap() -> None:
    run = Run(start=BEGINNING)
    strides = run.strides
    for second in range(30):
        run.now += 1
        assert strides.due({"s": BEGINNING if second < 2 * SPAN else 1000 * HOUR + second * SECOND}, 0)
        strides.stepped(0.5)
