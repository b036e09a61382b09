"""Reports and sessions as the command line sees them, without a program behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.engine.status import QueryStatus, Status, StreamStatus, TableStatus
from weft.plan.nodes import Program

NOON = 1_700_049_600_000_000  # 2023-11-15 12:00:00
SECOND = 1_000_000


def a_query(name: str = "vwap", **changes: Any) -> QueryStatus:
    values: dict[str, Any] = {
        "name": name,
        "version": 1,
        "stream": "trades",
        "state": "running",
        "window": "5 min every 10 s",
        "next_end": NOON + 10 * SECOND,
        "waits_for": "trades to reach 12:00:12",
        "windows": 12,
        "answers": 600,
        "late": 0,
        "dead": 0,
        "sink": "store",
        "sink_state": "ok",
        "sink_error": "",
        "delivered": 3,
    }
    return QueryStatus(**(values | changes))


def a_stream(name: str = "trades", **changes: Any) -> StreamStatus:
    values: dict[str, Any] = {
        "name": name,
        "batches": 42,
        "rows": 84_000,
        "rows_per_second": 2013.4,
        "max_time": NOON + 2 * SECOND,
        "watermark": NOON,
        "late": 0,
        "no_time": 0,
        "ahead": 0,
        "corrupt": 0,
        "batch_seconds": 0.3,
        "state": "running",
    }
    return StreamStatus(**(values | changes))


def a_table(**changes: Any) -> TableStatus:
    values: dict[str, Any] = {"name": "names", "version": 1, "rows": 2, "since": None, "read": "2025-01-01"}
    return TableStatus(**(values | changes))


def a_status(count: int = 2, **changes: Any) -> Status:
    values: dict[str, Any] = {
        "home": "/home/weft",
        "state": "running",
        "steps": 41,
        "streams": (a_stream(),),
        "queries": tuple(a_query(f"vwap_{at}") for at in range(count)),
        "step_seconds": 0.12,
        "latency_seconds": 0.38,
        "cells": 123_456,
        "state_bytes": 12_345_678,
        "partials_apart": 412,
        "partials_shared": 63,
        "row_updates_apart": 14_210.0,
        "row_updates_shared": 87.0,
        "updated": NOON / SECOND + 5,
    }
    return Status(**(values | changes))


@dataclass
class FakeSession:
    """A session that reports `reports` one after the other, then has ended."""

    home: Path
    reports: list[Status] = field(default_factory=lambda: [a_status()])
    ends_with: Exception | None = None
    on_start: Callable[[], None] = lambda: None
    on_report: Callable[[], None] = lambda: None
    calls: list[Any] = field(default_factory=list)
    spark: object = None
    program: Program = field(default_factory=lambda: Program((), ()))

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.calls.append("close")

    def sql(self, text: str, file: str = "<text>") -> list[str]:
        self.calls.append(("sql", text, file))
        return []

    def start(self, **options: Any) -> FakeSession:
        self.calls.append(("start", options))
        self.on_start()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        if len(self.reports) > 1:
            return False
        if self.ends_with is not None:
            raise self.ends_with
        return True

    def status(self) -> Status:
        self.on_report()
        return self.reports.pop(0) if len(self.reports) > 1 else self.reports[0]

    def stop(self) -> None:
        self.calls.append("stop")
