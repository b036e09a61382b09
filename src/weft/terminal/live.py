"""The live board on a terminal, fed with what a program reports and the newest answers of some queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rich import live
from rich.console import Console

from weft.engine.status import Status
from weft.plan.nodes import Program
from weft.terminal.board import View, board, starting
from weft.terminal.pace import Pace
from weft.terminal.ticks import Ticker, spread

MOST = 26  # queries with their answers; a small screen shows fewer


class Live:
    """A board on the alternate screen of the terminal, which is as it was when the board is gone."""

    every = 0.5

    def __init__(
        self,
        title: str,
        program: Program,
        home: Path,
        limit: float | None = None,
        shown: Sequence[str] = (),
        console: Console | None = None,
    ) -> None:
        self._title, self._limit = title, limit
        self._console = console or Console(stderr=True)
        self._pace = Pace()
        self._ticker = Ticker(home, spread(program, shown, MOST))
        self._live = live.Live(
            starting(title), console=self._console, screen=True, auto_refresh=False, transient=True
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, status: Status, elapsed: float) -> None:
        width, height = self._console.size
        view = View(
            self._title,
            status,
            self._pace.take(elapsed, status),
            elapsed,
            self._limit,
            self._ticker.ticks(status),
        )
        self._live.update(board(view, width, height), refresh=True)
