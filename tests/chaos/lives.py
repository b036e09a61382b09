"""The lives of a program: started as a process of its own, killed with all that belongs to it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path

import psutil

WEFT = [sys.executable, "-m", "weft"]
OFTEN = [  # the same command line, with a snapshot every five steps
    sys.executable,
    "-c",
    "import weft.engine.runtime as r; r.SNAPSHOT_EVERY = 5; import weft.cli; weft.cli.main()",
]
POLL = 0.02  # seconds
LONGEST = 900.0  # seconds that a life may take before it counts as hanging

_RECORD = re.compile(r"(\d{12})\.json")


class Place:
    """A directory in which the program lives: its source, its home, its sinks."""

    def __init__(
        self, path: Path, files: Sequence[Path], text: str, placements: Sequence[str] = ("driver",)
    ) -> None:
        self.path, self._files, self._shown = path, files, 0
        self._placements = cycle(placements)  # where the cells are, in one life after the other
        (path / "in").mkdir(parents=True)
        (path / "app.sql").write_text(text)
        self._first = time.time() - 3600

    def next_placement(self) -> list[str]:
        """The options that say where the cells are in the next life."""
        placement, _, buckets = next(self._placements).partition(":")
        return ["--placement", placement, *(["--buckets", buckets] if buckets else [])]

    @property
    def is_complete(self) -> bool:
        """Are all files of the source there?"""
        return self._shown == len(self._files)

    @property
    def ingested(self) -> int:
        """How many batches the log has."""
        directory = self.path / "home" / "ingest" / "trades"
        if not directory.exists():
            return 0
        numbers = [int(match[1]) for name in os.listdir(directory) if (match := _RECORD.fullmatch(name))]
        return max(numbers, default=-1) + 1

    @property
    def has_all(self) -> bool:
        """Has the log all files? Spark, killed between its two logs, puts two files into the next batch."""
        offsets = self.path / "home" / "checkpoints" / "trades" / "offsets"
        if not self.ingested or not offsets.exists():
            return False
        last = max(int(name) for name in os.listdir(offsets) if name.isdigit())
        taken = json.loads((offsets / str(last)).read_text().splitlines()[-1])["logOffset"] + 1
        return bool(taken >= len(self._files) and self.ingested > last)

    def show(self, upto: int) -> None:
        """Let files of the source arrive, up to a number of them."""
        for file in self._files[self._shown : upto]:
            staged = self.path / file.name
            staged.write_bytes(file.read_bytes())
            os.utime(staged, (self._first + self._shown,) * 2)  # Spark takes them in this order
            staged.rename(self.path / "in" / file.name)
            self._shown += 1


class Life:
    """A running program, from start to kill or to its end."""

    def __init__(
        self, place: Place, command: Sequence[str], drain: bool, env: Mapping[str, str] | None = None
    ) -> None:
        self.place, self.before = place, place.ingested
        arguments = ["run", "app.sql", "--home", "home", "--once", *(["--drain"] if drain else [])]
        arguments += ["--progress", "none", "--master", "local[2]", *place.next_placement()]
        self._began = time.monotonic()
        with open(place.path / "log.txt", "ab") as log:
            self.process = subprocess.Popen(
                [*command, *arguments],
                cwd=place.path,
                env=os.environ | (env or {}),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def wait_until(self, happened: Callable[[], bool]) -> bool:
        """Wait for something to happen; False if the program ended before it did."""
        while not happened():
            if self.process.poll() is not None:
                return False
            if self.seconds > LONGEST:
                self.kill()
                raise SystemExit(f"it hangs: see {self.place.path / 'log.txt'}")
            time.sleep(POLL)
        return True

    def wait_for(self, seconds: float) -> bool:
        """Let it live for so long; False if it ended before."""
        until = time.monotonic() + seconds
        return self.wait_until(lambda: time.monotonic() >= until)

    def kill(self, alone: bool = False) -> None:
        """`kill -9` for the whole process group; `alone`: for the process, and Spark's JVM ends by itself."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        if alone:
            self.process.kill()
        else:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        _, left = psutil.wait_procs(family, timeout=60)
        if left:
            raise SystemExit(f"processes survived: {left}")

    def end(self) -> int:
        """Wait for its end; gives the exit code."""
        self.wait_until(lambda: self.process.poll() is not None)
        return self.process.wait()
