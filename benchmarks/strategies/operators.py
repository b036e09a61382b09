"""Operators over rows that come and are taken back, one message at a time (Golab 2006, 2.2, 2.3, 3.5).

An operator is given messages and the time; it gives messages. One that *tells all* sends a row back for every
row that leaves, also for those that leave when they said; others send back only what leaves before its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf
from typing import Protocol

from benchmarks.strategies.lives import Lacking, Life, Message, Values
from benchmarks.strategies.structures import Calendar, Fifo, Hashed, Indexed, Listing, Structure, all_values


class Operator(Protocol):
    def take(self, side: int, message: Message, now: float) -> Iterable[Message]: ...
    def expire(self, now: float) -> Iterable[Message]: ...
    def structures(self) -> Iterable[Structure]: ...


class WindowOf:
    """Rows of a window; where it tells all, they are kept so as to be sent back."""

    def __init__(self, tells_all: bool) -> None:
        self._kept = Fifo()
        self._tells_all = tells_all

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        if self._tells_all:
            self._kept.insert(message.life)
        yield message

    def expire(self, now: float) -> Iterator[Message]:
        for life in self._kept.expire(now):
            yield Message(life, taken_back=True)

    def structures(self) -> Iterable[Structure]:
        return (self._kept,)


class LatestOf:
    """The last rows: each that comes sends the oldest back."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept = Fifo()
        self._order: list[Life] = []

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        self._kept.insert(message.life)
        self._order.append(message.life)
        if len(self._order) > self._count:
            oldest = self._order.pop(0)
            self._kept.remove(oldest)
            yield Message(oldest, taken_back=True)
        yield message

    def expire(self, now: float) -> Iterable[Message]:
        return ()

    def structures(self) -> Iterable[Structure]:
        return (self._kept,)


class Joining:
    """Pairs with the same first value; rows that have left are skipped until they are put away."""

    def __init__(self, left: Structure, right: Structure, lazy: float, told_all: bool) -> None:
        self._sides = Indexed(left), Indexed(right)
        self._lazy, self._expired = lazy, -inf
        self._told_all = told_all  # every row that leaves is taken back: those that are there count

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        life, mine, other = message.life, self._sides[side], self._sides[1 - side]
        if message.taken_back:
            if mine.remove(life) is None:
                return
        else:
            mine.insert(life)
        for match in other.of(life.key):
            if self._told_all or match.exp > now:
                yield Message(_pair(life, match, side, now), message.taken_back)

    def expire(self, now: float) -> Iterable[Message]:
        if now - self._expired >= self._lazy:
            self._expired = now
            for each in self._sides:
                each.expire(now)
        return ()

    def structures(self) -> Iterable[Structure]:
        return [each.structure for each in self._sides]


def _pair(life: Life, match: Life, side: int, now: float) -> Life:
    left, right = (match, life) if side else (life, match)
    return Life(left.values + right.values, now, min(left.exp, right.exp), left.made + right.made)


class Naive:
    """DISTINCT that keeps all of its input, and looks through it when a row it told leaves."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        self._columns = columns
        self._input, self._output = Indexed(Listing(), all_values), Indexed(Listing(), all_values)

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        life = _projected(message.life, self._columns, now)
        self._input.insert(life)
        if not self._output.of(life.values):
            self._output.insert(life)
            yield Message(life)

    def expire(self, now: float) -> Iterator[Message]:
        self._input.expire(now)
        for gone in self._output.expire(now):
            equal = self._input.of(gone.values)
            if equal:
                youngest = max(equal, key=lambda one: one.exp)
                told = Life(youngest.values, now, youngest.exp, youngest.made)
                self._output.insert(told)
                yield Message(told)

    def structures(self) -> Iterable[Structure]:
        return self._input.structure, self._output.structure


class DeltaStar:
    """DISTINCT that keeps what it told, and for each the equal row that lives longest."""

    def __init__(self, columns: tuple[int, ...], length: float, partitions: int) -> None:
        self._columns = columns
        self._told: dict[object, Life] = {}
        self._calendar = Calendar(length, partitions)
        self._next: dict[object, Life] = {}
        self._sized = _Sized(self._next)

    @property
    def told(self) -> int:
        return len(self._told)

    @property
    def rows(self) -> int:
        return len(self._told) + len(self._next)

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        self._sized.touches += 1
        life = _projected(message.life, self._columns, now)
        told = self._told.get(life.values)
        if told is None:
            yield self._tell(life)
        elif life.exp > max(told.exp, self._next.get(life.values, told).exp):
            self._next[life.values] = life

    def expire(self, now: float) -> Iterator[Message]:
        for gone in self._calendar.expire(now):
            del self._told[gone.values]
            following = self._next.pop(gone.values, None)
            if following is not None and following.exp > now:
                yield self._tell(Life(following.values, now, following.exp, following.made))

    def _tell(self, life: Life) -> Message:
        self._told[life.values] = life
        self._calendar.insert(life)
        return Message(life)

    def structures(self) -> Iterable[Structure]:
        return self._calendar, self._sized


class Counting:
    """DISTINCT that counts equal rows: told with the first, taken back with the last."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        self._columns = columns
        self._counts: Counter[object] = Counter()
        self._sized = _Sized(self._counts)

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        self._sized.touches += 1
        values = tuple(message.life.values[at] for at in self._columns)
        self._counts[values] += -1 if message.taken_back else 1
        if self._counts[values] == (not message.taken_back):
            yield Message(Life(values, now, inf, (values,)), message.taken_back)
        if not self._counts[values]:
            del self._counts[values]

    def expire(self, now: float) -> Iterable[Message]:
        return ()

    def structures(self) -> Iterable[Structure]:
        return (self._sized,)


def _projected(life: Life, columns: tuple[int, ...], now: float) -> Life:
    return Life(tuple(life.values[at] for at in columns), now, life.exp, life.made)


class Lacks:
    """Rows of the left side that the right side does not answer for."""

    def __init__(self, left: Structure, right: Structure, lacking: Lacking, tells_all: bool) -> None:
        self._sides = Indexed(left), Indexed(right)
        self._told: dict[object, dict[object, Life]] = {}
        self._lacking, self._tells_all = lacking, tells_all

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        life, mine = message.life, self._sides[side]
        if message.taken_back:
            if mine.remove(life) is not None:
                yield from self._left_early(life, now) if side == 0 else self._settle(life.key, now)
            return
        mine.insert(life)
        yield from self._settle(life.key, now)

    def expire(self, now: float) -> Iterator[Message]:
        for life in self._sides[0].expire(now):
            if self._told.get(life.key, {}).pop(life.made, None) is not None and self._tells_all:
                yield Message(life, taken_back=True)
            yield from self._settle(life.key, now)
        for life in self._sides[1].expire(now):
            yield from self._settle(life.key, now)

    def _left_early(self, life: Life, now: float) -> Iterator[Message]:
        told = self._told.get(life.key, {}).pop(life.made, None)
        if told is not None:
            yield Message(told, taken_back=True)
        yield from self._settle(life.key, now)

    def _settle(self, key: object, now: float) -> Iterator[Message]:
        """Tell and take back until what is told is what should be."""
        told = self._told.setdefault(key, {})
        wanted = self._wanted(key)
        for made in [made for made in told if made not in wanted]:
            yield Message(told.pop(made), taken_back=True)
        for made, life in wanted.items():
            if made not in told and life.exp > now:
                told[made] = Life(life.values, now, life.exp, life.made)
                yield Message(told[made])
        if not told:
            del self._told[key]

    def _wanted(self, key: object) -> dict[object, Life]:
        rows, others = self._sides[0].of(key), len(self._sides[1].of(key))
        match self._lacking:
            case Lacking.NO_MATCH:
                rows = [] if others else rows
            case Lacking.YOUNGEST:
                rows = rows[others:]
            case Lacking.OLDEST:
                rows = rows[: max(len(rows) - others, 0)]
        return {life.made: life for life in rows}

    def structures(self) -> Iterable[Structure]:
        return [each.structure for each in self._sides]


class Totalling:
    """A sum for each group; a new value replaces the one before."""

    def __init__(self, grouped: bool) -> None:
        self._grouped = grouped
        self._sums: dict[Values, tuple[float, int]] = {}

    def take(self, side: int, message: Message, now: float) -> Iterator[Message]:
        group = message.life.values[:1] if self._grouped else ()
        total, count = self._sums.get(group, (0, 0))
        sign = -1 if message.taken_back else 1
        total, count = total + sign * message.life.values[-1], count + sign  # type: ignore[operator]
        if count:
            self._sums[group] = total, count
        else:
            del self._sums[group]
        yield Message(Life((*group, total), now, inf, group), taken_back=not count)

    def expire(self, now: float) -> Iterable[Message]:
        return ()

    def structures(self) -> Iterable[Structure]:
        return (_Sized(self._sums),)


class _Sized(Hashed):
    """Something kept elsewhere: its size, and how often it was looked at."""

    def __init__(self, held: dict[object, Life] | Counter[object] | dict[Values, tuple[float, int]]) -> None:
        super().__init__()
        self._held = held

    def __len__(self) -> int:
        return len(self._held)
