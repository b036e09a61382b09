"""Counters of a program, kept across restarts: what was answered, what came late, what was wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


class Tally:
    """Totals by query version (or stream), each a plain counter."""

    NAMES = (
        "windows",
        "answers",
        "late",
        "dead",
        "rows",
        "no_time",
        "ahead",
        "corrupt",
        "late_rows",
        "batches",
    )

    def __init__(self, stored: Mapping[str, Mapping[str, int]] | None = None) -> None:
        self.totals: dict[str, Counter[str]] = {name: Counter() for name in self.NAMES}
        if stored is not None:
            self.add(stored)

    def add(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        for name, by_key in counts.items():
            self.totals[name].update(by_key)

    def get(self, name: str, key: str) -> int:
        return self.totals[name][key]

    def total(self, name: str) -> int:
        return self.totals[name].total()

    def to_json(self) -> dict[str, Any]:
        return {name: dict(counts) for name, counts in self.totals.items() if counts}
