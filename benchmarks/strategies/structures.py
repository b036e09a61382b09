"""What rows that come and go are kept in, each with how many rows it has looked at.

Fifo       in the order they came: those that leave are at the front
Listing    in the order they came, though they leave in another: looking for those that left takes all
Calendar   by when they leave, in partitions that are used again; to take one back takes all
Hashed     by what they are made of: each is told to leave
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from benchmarks.strategies.lives import Life


class Structure(Protocol):
    touches: int

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Life]: ...
    def insert(self, life: Life) -> None: ...
    def expire(self, now: float) -> list[Life]: ...
    def remove(self, life: Life) -> Life | None: ...


class Fifo:
    def __init__(self) -> None:
        self.touches = 0
        self._rows: deque[Life] = deque()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Life]:
        return iter(self._rows)

    def insert(self, life: Life) -> None:
        self.touches += 1
        self._rows.append(life)

    def expire(self, now: float) -> list[Life]:
        gone = []
        while self._rows and self._rows[0].exp <= now:
            gone.append(self._rows.popleft())
        self.touches += len(gone)
        return gone

    def remove(self, life: Life) -> Life | None:
        for at, one in enumerate(self._rows):
            self.touches += 1
            if one.made == life.made:
                del self._rows[at]
                return one
        return None


class Listing(Fifo):
    def expire(self, now: float) -> list[Life]:
        self.touches += len(self._rows)
        gone = [life for life in self._rows if life.exp <= now]
        if gone:
            self._rows = deque(life for life in self._rows if life.exp > now)
        return gone


class Calendar:
    """Partitions by `exp`, each `length / partitions` wide and in order of `exp`."""

    def __init__(self, length: float, partitions: int = 10) -> None:
        self.touches = 0
        self.width = max(length / partitions, 1)
        self.partitions: list[list[Life]] = [[] for _ in range(partitions)]
        self._expired: int | None = None  # number, not yet taken modulo, of the last partition looked at

    def __len__(self) -> int:
        return sum(map(len, self.partitions))

    def __iter__(self) -> Iterator[Life]:
        return (life for part in self.partitions for life in part)

    def number(self, exp: float) -> int:
        return int((exp - 1) // self.width)

    def insert(self, life: Life) -> None:
        """Into its place from the end, as in a linked list, so that rows behind it are looked at."""
        part = self.partitions[self.number(life.exp) % len(self.partitions)]
        at = bisect_right(part, life.exp, key=lambda one: one.exp)
        self.touches += 1 + len(part) - at
        part.insert(at, life)

    def expire(self, now: float) -> list[Life]:
        """Those that are due stand at the front of the partitions up to that of `now`."""
        upto = self.number(now)
        first = upto - len(self.partitions) + 1 if self._expired is None else self._expired
        gone: list[Life] = []
        for number in range(max(first, upto - len(self.partitions) + 1), upto + 1):
            part = self.partitions[number % len(self.partitions)]
            due = bisect_right(part, now, key=lambda one: one.exp)
            self.touches += due + (due < len(part))
            gone += part[:due]
            del part[:due]
        self._expired = upto
        return sorted(gone, key=lambda life: life.exp)

    def remove(self, life: Life) -> Life | None:
        for part in self.partitions:
            for at, one in enumerate(part):
                self.touches += 1
                if one.made == life.made:
                    return part.pop(at)
        return None


class Hashed:
    def __init__(self) -> None:
        self.touches = 0
        self._rows: dict[object, Life] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Life]:
        return iter(self._rows.values())

    def insert(self, life: Life) -> None:
        self.touches += 1
        self._rows[life.made] = life

    def expire(self, now: float) -> list[Life]:
        return []

    def remove(self, life: Life) -> Life | None:
        self.touches += 1
        return self._rows.pop(life.made, None)


class Bucketed:
    """A hash table with a few buckets, as the thesis has it: one that leaves is looked for in its own."""

    def __init__(self, buckets: int) -> None:
        self.touches = 0
        self._buckets: list[list[Life]] = [[] for _ in range(buckets)]

    def __len__(self) -> int:
        return sum(map(len, self._buckets))

    def __iter__(self) -> Iterator[Life]:
        return (life for bucket in self._buckets for life in bucket)

    def insert(self, life: Life) -> None:
        self.touches += 1
        self._bucket(life).append(life)

    def expire(self, now: float) -> list[Life]:
        return []

    def remove(self, life: Life) -> Life | None:
        bucket = self._bucket(life)
        for at, one in enumerate(bucket):
            self.touches += 1
            if one.made == life.made:
                return bucket.pop(at)
        return None

    def _bucket(self, life: Life) -> list[Life]:
        return self._buckets[hash(life.made) % len(self._buckets)]


def first_value(life: Life) -> object:
    return life.values[0]


def all_values(life: Life) -> object:
    return life.values


class Indexed:
    """A structure, and its rows by what they are compared by, in the order they came."""

    def __init__(self, structure: Structure, key: Callable[[Life], object] = first_value) -> None:
        self.structure = structure
        self._key = key
        self._by_key: dict[object, dict[object, Life]] = {}

    def insert(self, life: Life) -> None:
        self.structure.insert(life)
        self._by_key.setdefault(self._key(life), {})[life.made] = life

    def expire(self, now: float) -> list[Life]:
        gone = self.structure.expire(now)
        for life in gone:
            self._forget(life)
        return gone

    def remove(self, life: Life) -> Life | None:
        """None if it has left already."""
        if life.made not in self._by_key.get(self._key(life), ()):
            return None
        found = self.structure.remove(life)
        self._forget(life)
        return found

    def of(self, key: object) -> list[Life]:
        return list(self._by_key.get(key, {}).values())

    def _forget(self, life: Life) -> None:
        key = self._key(life)
        group = self._by_key[key]
        del group[life.made]
        if not group:
            del self._by_key[key]
