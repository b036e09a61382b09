"""A small program on the log and its sinks, killed wherever the test asks and started again.

    python -m tests.unit.engine.delivery_lives DIRECTORY < plans     a plan is a line: the fault of each start

Every start runs in a fork, so that one interpreter serves thousands of them. The program plays Spark and the
engine: batches come again until they are acknowledged, with partials that differ each time; steps fold them;
snapshots, expiry and delivery go on as in a real run. What it must show is checked by `problems`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  pyarrow would load it anew in every fork
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from weft.engine.delivery import Delivery
from weft.engine.filesinks import FileSink
from weft.log.answers import AnswerLog
from weft.log.catalog import Catalog, NewQuery
from weft.log.home import Home
from weft.log.ingest import IngestLog, IngestRecord
from weft.log.snapshots import Snapshots

BATCHES = 16
SNAPSHOT_EVERY = 2


class Program:
    """One start of the program."""

    def __init__(self, path: Path) -> None:
        self.path, self.now = path, _read(path / "clock", 1000.0)
        self.home = Home.open(path / "home", "app")
        self.home.pin({"timezone": "UTC"})
        self.catalog, self.ingest = Catalog(self.home), IngestLog(self.home, "s")
        self.answers, self.snapshots = AnswerLog(self.home), Snapshots(self.home)
        if not self.catalog.epochs:
            self.catalog.change(effective={"s": 0}, add=[NewQuery("q", "SELECT")], streams={"s": "CREATE"})
        self.catalog.bind_spark_query("s", "id")
        self.folded, self.total, self.noise = -1, 0, 0.0
        self.delivery = Delivery(self.home, self.answers, clock=lambda: self.now)
        self._register()
        self._restore()

    def _register(self) -> None:
        self.delivery.register("q@1", self._sink("q", "parquet"))
        self.delivery.register("lines", self._sink("lines", "csv"))
        self.delivery.register("short", self._sink("short", "parquet", retain=3_000_000))
        self.delivery.register("writer", self._write)

    def _sink(self, name: str, format: str, retain: int | None = None) -> FileSink:
        return FileSink(
            self.path / name,
            format,
            retain=retain,
            watermark=lambda: self.answers.next * 1_000_000,
            wall=lambda: self.now,
        )

    def _write(self, table: Any, step: int) -> None:
        _append(self.path / "written", step)

    def _restore(self) -> None:
        snapshot = self.snapshots.latest(lambda meta: self.ingest.reaches(meta.get("folded", -1)))
        after = -1
        if snapshot is not None:
            self.folded, self.noise, after = snapshot.meta["folded"], snapshot.meta["noise"], snapshot.step
            self.total = snapshot.table("state").column("total")[0].as_py()
        for record in self.answers.records(after):
            self._fold(record.meta["upto"])
        pending = self.answers.pending()
        if pending is not None:
            self._answer(pending.step, pending.meta["upto"])

    def run(self) -> None:
        for batch in range(_read(self.path / "acknowledged", -1) + 1, BATCHES):
            record = self._take(batch)
            _append(self.path / "ledger", [batch, record.meta["noise"]])
            _write(self.path / "acknowledged", batch)
            if batch % 3:  # some steps take two batches
                self._step()
            self._deliver()
        self._step()
        self.delivery.run_once(flush=True)
        self.home.close()

    def _take(self, batch: int) -> IngestRecord:
        found = self.ingest.find(batch, {"spark": "id"})
        if found is not None:
            return found
        noise = int.from_bytes(os.urandom(2), "little") / 7
        return self.ingest.commit(batch, {"cells": pa.table({"v": [batch]})}, {"spark": "id", "noise": noise})

    def _step(self) -> None:
        if self.ingest.next - 1 > self.folded:
            intent = self.answers.intend(self.answers.next, {"upto": self.ingest.next - 1})
            self._answer(intent.step, intent.meta["upto"])

    def _answer(self, step: int, upto: int) -> None:
        self._fold(upto)
        ends = pa.array([step * 1_000_000], pa.timestamp("us", "UTC"))
        table = pa.table({"window_end": ends, "step": [step], "total": [self.total], "noise": [self.noise]})
        self.answers.commit(step, dict.fromkeys(("q@1", "lines", "short", "writer"), table), {"upto": upto})
        if step % SNAPSHOT_EVERY == 1:
            self._snapshot(step)

    def _fold(self, upto: int) -> None:
        for record in self.ingest.records(after=self.folded):
            if record.batch <= upto:
                self.total += self.ingest.load(record, "cells").column("v")[0].as_py()
                self.noise += record.meta["noise"]
                self.folded = record.batch

    def _snapshot(self, step: int) -> None:
        meta = {"folded": self.folded, "noise": self.noise, "step": step}
        self.snapshots.write(step, meta, {"state": pa.table({"total": [self.total]})})
        horizon = self.snapshots.horizon()
        if horizon is not None:
            self.ingest.expire(horizon["folded"])
            self.answers.expire(min(self.delivery.least_position(), horizon["step"]))

    def _deliver(self) -> None:
        """Every pass flushes, every second one seals, and every third step closes a file."""
        self.now += 600 if self.answers.next % 3 == 2 else 20
        _write(self.path / "clock", self.now)
        self.delivery.run_once()


def problems(path: Path, finished: bool) -> list[str]:
    """What is wrong with what a reader finds: after a crash (`finished` is false), or at the end."""
    rows, lines = _rows(path / "q", pq.read_table), _rows(path / "lines", pa_csv.read_csv)
    steps = [row["step"] for row in rows]
    found = [f"{name} has steps {seen}" for name, seen in _not_from_the_start(q=rows, lines=lines)]
    if any(line["total"] != row["total"] or line["noise"] != row["noise"] for line, row in zip(lines, rows)):
        found.append("the sinks differ")
    ledger: dict[int, float] = {}
    for batch, noise in _read_lines(path / "ledger"):
        if ledger.setdefault(batch, noise) != noise:
            found.append(f"batch {batch} had two records in force")
    if not finished:
        return found
    short = [row["step"] for row in _rows(path / "short", pq.read_table)]
    if len(short) < 3 or short != steps[-len(short) :]:
        found.append(f"short has steps {short} of {len(steps)}")
    written = sorted(set(_read_lines(path / "written")))
    if written != steps or len(lines) != len(steps):
        found.append(f"the writer got {written}, there are {len(lines)} lines and {len(steps)} rows")
    if rows[-1]["total"] != sum(range(BATCHES)) or abs(rows[-1]["noise"] - sum(ledger.values())) > 1e-6:
        found.append(f"the end is {rows[-1]}, the ledger says {sum(ledger.values())}")
    return found + _left_behind(path / "home")


def _not_from_the_start(**datasets: list[dict[str, Any]]) -> list[tuple[str, list[int]]]:
    seen = {name: [row["step"] for row in rows] for name, rows in datasets.items()}
    return [(name, steps) for name, steps in seen.items() if steps != list(range(len(steps)))]


def _left_behind(home: Path) -> list[str]:
    """Files that nobody will ever read, once the logs have been opened again."""
    with Home.open(home) as opened:
        IngestLog(opened, "s")
        AnswerLog(opened)
        Snapshots(opened)
    records = {path.with_suffix("") for path in home.rglob("*.json")}
    data = [path.parent / path.name[:12] for path in home.rglob("*.arrow")]
    stray = [str(path) for path in data if path not in records or data.count(path) > 1]
    return stray + [str(path) for suffix in ("tmp", "staged") for path in home.rglob(f"*.{suffix}")]


def _rows(directory: Path, read: Callable[[Path], Any]) -> list[dict[str, Any]]:
    if not directory.exists():
        return []
    parts = sorted(path for path in directory.iterdir() if not path.name.startswith("."))
    return [row for path in parts for row in read(path).to_pylist()]


def _read(path: Path, otherwise: Any) -> Any:
    return json.loads(path.read_text()) if path.exists() else otherwise


def _write(path: Path, value: Any) -> None:
    staged = path.with_suffix(".new")
    staged.write_text(json.dumps(value))
    staged.replace(path)


def _append(path: Path, value: Any) -> None:
    with open(path, "a") as file:
        file.write(json.dumps(value) + "\n")


def _read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def start(path: Path, fault: str | None) -> int:
    """One start in a process of its own; its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            if fault is not None:
                os.environ["WEFT_FAULT"] = fault
            Program(path).run()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(path: Path, finished: bool) -> list[str]:
    """`problems`, found in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = problems(path, finished)
        except BaseException:
            found = [traceback.format_exc()]
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    with open(read) as file:
        found = json.loads(file.read())
    os.waitpid(child, 0)
    return list(found)


def play(path: Path, faults: list[str]) -> dict[str, Any]:
    """Start with each fault in turn, then to the end; what came of each start, and what was wrong."""
    path.mkdir(parents=True)
    came: list[int] = []
    wrong: list[str] = []
    for fault in faults:
        came.append(start(path, fault))
        wrong += [f"after {fault}: {problem}" for problem in check(path, finished=False)]
    last = start(path, None)
    wrong += [f"the last start ended with {last}"] * (last != 0) + check(path, finished=True)
    return {"faults": faults, "came": came, "wrong": wrong}


if __name__ == "__main__":
    for number, line in enumerate(sys.stdin):
        print(json.dumps(play(Path(sys.argv[1]) / str(number), json.loads(line))), flush=True)
