"""What is raced: input, queries, where answers go, who runs and on how much of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchmarks.data import Data
from benchmarks.programs import WindowQuery


@dataclass(frozen=True, slots=True)
class Workload:
    """The same for all contestants, but that a slow one is given only the first files: `parts`.

    `sink` is `noop`, where every answer is made and dropped, or `parquet`. `check` is the number of files
    over which all answers are compared.
    """

    name: str
    title: str
    data: Data
    queries: tuple[WindowQuery, ...]
    contestants: tuple[str, ...]
    sink: str = "noop"
    parts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    check: int = 2

    def part(self, contestant: str) -> int:
        """How many files the contestant is given."""
        return min(self.parts.get(contestant, self.data.files), self.data.files)

    def rows(self, contestant: str) -> int:
        return self.data.rows_per_file * self.part(contestant)

    @property
    def checked(self) -> int:
        """How many files the check is over: no more than the slowest is given."""
        parts = [self.part(name) for name in self.contestants]
        return max(1, min([self.check, *parts]))
