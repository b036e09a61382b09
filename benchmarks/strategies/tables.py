"""A window joined with a table that changes, by key: what a change does to rows that came before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.strategies.lives import Life, Message


class Retroactive:
    """Rows meet the table as it is: a row that comes to it or goes changes what was told."""

    def __init__(self) -> None:
        self._table: set[object] = set()
        self._window: list[Life] = []

    def row(self, life: Life) -> Iterator[Message]:
        self._window.append(life)
        if life.key in self._table:
            yield Message(life)

    def insert(self, key: object, now: float) -> Iterator[Message]:
        self._table.add(key)
        yield from self._told(key, now, taken_back=False)

    def delete(self, key: object, now: float) -> Iterator[Message]:
        self._table.remove(key)
        yield from self._told(key, now, taken_back=True)

    def _told(self, key: object, now: float, taken_back: bool) -> Iterator[Message]:
        self._window = [life for life in self._window if life.exp > now]
        for life in self._window:
            if life.key == key:
                yield Message(life if taken_back else replace(life, ts=now), taken_back)


class NotRetroactive:
    """Each row meets the table as it was when the row came; changes say nothing, and no row is kept."""

    def __init__(self) -> None:
        self._table: set[object] = set()

    def row(self, life: Life) -> Iterator[Message]:
        if life.key in self._table:
            yield Message(life)

    def insert(self, key: object, now: float) -> Iterator[Message]:
        self._table.add(key)
        yield from ()

    def delete(self, key: object, now: float) -> Iterator[Message]:
        self._table.remove(key)
        yield from ()
