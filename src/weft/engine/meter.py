"""What answering takes: CPU-seconds of the threads of a run, by level and by query.

Cheap enough to be always on: the clock of the thread is read a few times a step and twice a query.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from weft.engine.due import Item
from weft.share.model.cost import Level


class Meter:
    """Totals since the run was started; `queries` are answered windows only, before anything is written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.levels: defaultdict[Level, float] = defaultdict(float)
        self.queries: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def during(self, level: Level) -> Iterator[None]:
        """What this thread does here is work of a level."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._add(level, time.thread_time() - began)

    def watched(self, items: Iterable[Item], within: Level) -> Iterator[Item]:
        """The items, made while they are asked for: what that takes is not work of the level around it."""
        began = time.thread_time()
        for item in items:
            self._answered(item, time.thread_time() - began, within)
            yield item
            began = time.thread_time()

    def _answered(self, item: Item, seconds: float, within: Level) -> None:
        self._add(Level.FINAL, seconds)
        self._add(within, -seconds)
        names = [shape.query.name for portion in item.portions for shape in portion.shapes]
        for name in names:
            self.queries[name] += seconds / len(names)

    def _add(self, level: Level, seconds: float) -> None:
        with self._lock:
            self.levels[level] += seconds
