"""A contestant's process, as seen from the race that tells it when it is its turn."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.side import Order


class Ended(Exception):
    """The process is gone, and its output says why."""


class Turns:
    """`python -m benchmarks.side` under way. Told a command, it answers when that is done."""

    def __init__(self, python: str, order: Order, environment: Mapping[str, str]) -> None:
        path = Path(order.scratch) / "order.json"
        path.write_text(json.dumps(asdict(order)))
        reading, writing = os.pipe()
        command = [python, "-m", "benchmarks.side", str(path), str(writing)]
        self._process = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.PIPE, pass_fds=[writing], text=True
        )
        os.close(writing)
        self._said: IO[str] = os.fdopen(reading)

    def tell(self, command: str) -> dict[str, Any]:
        """Have it do something, and wait; `Ended` if it dies meanwhile."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{command}\n")
            self._process.stdin.flush()
            line = self._said.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Ended(f"its process ended with exit code {self._process.wait()}; its output has the reason")
        return dict(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        if kind is not None:
            self._process.kill()
        self._process.stdin.close()
        self._process.wait()
        self._said.close()
