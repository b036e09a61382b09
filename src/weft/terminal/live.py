"""The live board on a terminal, fed with what a program reports and the newest answers of some queries."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Self

from rich import live
from rich.console import Console

from weft.engine.status import Status
from weft.log.paths import AnyPath
from weft.plan.nodes import Program
from weft.terminal.board import View, board, starting
from weft.terminal.pace import Pace
from weft.terminal.ticks import Ticker, spread

MOST = 26  # queries with their answers; a small screen shows fewer
LINES = 60  # of what was kept from the screen, shown if the program fails
STDERR = 2


class Live:
    """A board on the alternate screen of the terminal, which is as it was when the board is gone.

    What others write to stderr meanwhile, above all the JVM, which starts under the board, is kept from the
    screen; the end of it is shown afterwards if the program fails.
    """

    every = 0.5

    def __init__(
        self,
        title: str,
        program: Program,
        home: AnyPath,
        shown: Sequence[str] = (),
    ) -> None:
        self._title = title
        self._pace = Pace()
        self._ticker = Ticker(home, spread(program, shown, MOST))
        self._aside = Aside()

    def __enter__(self) -> Self:
        self._console = Console(file=self._aside.__enter__())
        self._live = live.Live(starting(self._title), console=self._console, screen=True, auto_refresh=False)
        self._live.start(refresh=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()
        self._aside.__exit__(*exc)

    def show(self, status: Status, elapsed: float, left: float | None) -> None:
        width, height = self._console.size
        view = View(
            self._title,
            status,
            self._pace.take(elapsed, status),
            elapsed,
            left,
            self._ticker.ticks(status),
        )
        self._live.update(board(view, width, height), refresh=True)


class Aside:
    """Turns stderr away from the terminal, to a file, and gives the terminal itself to whoever enters.

    A process that is started meanwhile keeps writing to the file.
    """

    def __enter__(self) -> IO[str]:
        sys.stderr.flush()
        self._kept = tempfile.TemporaryFile()
        self._terminal = os.fdopen(os.dup(STDERR), "w")
        os.dup2(self._kept.fileno(), STDERR)
        return self._terminal

    def __exit__(self, *exc: object) -> None:
        sys.stderr.flush()
        os.dup2(self._terminal.fileno(), STDERR)
        if exc[0] is not None:
            self._kept.seek(0)
            lines = self._kept.read().decode(errors="replace").splitlines(keepends=True)
            self._terminal.writelines(lines[-LINES:])
        self._terminal.close()
        self._kept.close()
