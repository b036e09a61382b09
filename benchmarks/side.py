"""One contestant on one workload, in a process of its own: `python -m benchmarks.side ORDER RESULT`.

    process starts ... engine starts, first run  | second run | ... | a minute has passed | run | run ...
    [================ cold =====================)                                         [ warm )[ warm

Cold is all that the process cost up to the end of its first run. Warm are the runs after its first minute, in
a race of full size: so long do JVMs go on compiling, and runs before that cost up to half as much again.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq

from benchmarks import contestants
from benchmarks.data import files_of
from benchmarks.measure import Measured, Run, timed, tree_cpu
from benchmarks.workload import Workload
from benchmarks.workloads import Sizes, find


@dataclass(frozen=True, slots=True)
class Order:
    """What the process is told: who, on what, how often, and where files are."""

    workload: str
    contestant: str
    sizes: Sizes
    data: str
    scratch: str  # where answers are written: `measured` and removed, `checked` and left
    repeat: int
    warm_up: float  # seconds from its start until a run counts as warm
    memory: str
    check: bool


def run(order: Order) -> Measured:
    """All runs of the contestant; then once more to keep the answers for the check."""
    workload = find(order.workload, order.sizes)
    scratch, root = Path(order.scratch), Path(order.data)
    files = files_of(workload.data, root, workload.part(order.contestant))
    before = os.getloadavg()[0]
    side = contestants.enter(order.contestant, order.memory)
    out = scratch / "measured" if workload.sink == "parquet" else None
    side.run(workload, files, out)
    cold = Run(tree_cpu(), _age())
    while _age() < order.warm_up:
        _remove(out)
        side.run(workload, files, out)
    warm: list[Run] = []
    for _ in range(order.repeat):
        _remove(out)
        with timed(warm):
            side.run(workload, files, out)
    after = os.getloadavg()[0]
    answers = _count(out)
    _remove(out)
    if order.check and order.contestant in contestants.ANSWER:
        side.run(workload, files_of(workload.data, root, workload.checked), scratch / "checked")
    side.close()
    return Measured(
        order.contestant,
        workload.rows(order.contestant),
        tuple(warm),
        _note(workload, order.contestant),
        (before, after),
        cold,
        answers,
    )


def _age() -> float:
    """Seconds since the process started."""
    return time.time() - psutil.Process().create_time()


def _note(workload: Workload, contestant: str) -> str:
    part = workload.part(contestant)
    return "" if part == workload.data.files else f"first {part} of {workload.data.files} files"


def _remove(out: Path | None) -> None:
    if out is not None:
        shutil.rmtree(out, ignore_errors=True)


def _count(out: Path | None) -> int:
    return sum(pq.read_metadata(path).num_rows for path in out.rglob("*.parquet")) if out else 0


def main(order_path: str, result_path: str) -> None:
    order = json.loads(Path(order_path).read_text())
    order["sizes"] = Sizes(**order["sizes"])
    Path(result_path).write_text(json.dumps(run(Order(**order)).to_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
