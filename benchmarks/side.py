"""One contestant on one workload, in a process of its own: `python -m benchmarks.side ORDER PIPE`.

    warm    engine starts, first run | second run | ... until a minute has passed      -> the cold run
            [======== cold =========)
    run     one run                                                                    -> its cost
    check   one run over the files of the check, whose answers are kept                -> nothing

Commands come as lines from the standard input, and a line of JSON goes into the pipe for each: so contestants
can take turns. Cold is all that the process cost up to the end of its first run. Runs count as warm after its
first minute, in a race of full size: so long do JVMs go on compiling, and runs before that cost up to half as
much again.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq

from benchmarks import contestants
from benchmarks.data import files_of
from benchmarks.measure import Run, timed, tree_cpu
from benchmarks.workloads import Sizes, find


@dataclass(frozen=True, slots=True)
class Order:
    """What the process is told: who, on what, and where files are."""

    workload: str
    contestant: str
    sizes: Sizes
    data: str
    scratch: str  # where answers are written: `measured` and removed, `checked` and left
    warm_up: float  # seconds from its start until a run counts as warm
    memory: str


class Contest:
    """The contestant of an order, and what it can be told to do."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._side: contestants.Contestant | None = None
        self._workload = find(order.workload, order.sizes)
        self._scratch, self._data = Path(order.scratch), Path(order.data)
        self._out = self._scratch / "measured" if self._workload.sink == "parquet" else None
        self._files = files_of(self._workload.data, self._data, self._workload.part(order.contestant))

    def warm(self) -> dict[str, Any]:
        self._side = contestants.enter(self._order.contestant, self._order.memory)
        self._run(self._files, self._out)
        cold = Run(tree_cpu(), _age())
        while _age() < self._order.warm_up:
            self._remove()
            self._run(self._files, self._out)
        return asdict(cold)

    def run(self) -> dict[str, Any]:
        found: list[Run] = []
        self._remove()
        with timed(found):
            self._run(self._files, self._out)
        return asdict(found[0]) | {"answers": _count(self._out)}

    def check(self) -> dict[str, Any]:
        self._remove()
        files = files_of(self._workload.data, self._data, self._workload.checked)
        self._run(files, self._scratch / "checked")
        return {}

    def _run(self, files: Path, out: Path | None) -> None:
        assert self._side is not None, "it has not been told to warm up"
        self._side.run(self._workload, files, out)

    def _remove(self) -> None:
        if self._out is not None:
            shutil.rmtree(self._out, ignore_errors=True)

    def close(self) -> None:
        if self._side is not None:
            self._side.close()


def _age() -> float:
    """Seconds since the process started."""
    return time.time() - float(psutil.Process().create_time())


def _count(out: Path | None) -> int:
    return sum(pq.read_metadata(path).num_rows for path in out.rglob("*.parquet")) if out else 0


def main(order_path: str, pipe: str) -> None:
    order = json.loads(Path(order_path).read_text())
    order["sizes"] = Sizes(**order["sizes"])
    contest = Contest(Order(**order))
    with os.fdopen(int(pipe), "w") as said:
        for command in sys.stdin:
            print(json.dumps(getattr(contest, command.strip())()), file=said, flush=True)
    contest.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
