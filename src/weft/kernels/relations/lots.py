"""Rows by key and begin of life, found for many probing rows at a time by halving.

    code = key, begin       rows sorted by one number of 64 bits
    3  10:00:01                       ◄─ lo    a row that lives 5 s has met one that begins
    3  10:00:04                                in (probe.begin - 5 s, probe.end)
    3  10:00:07                       ◄─ hi
    4  10:00:02

Begins are counted from the least, or, where they lie too far apart for what the keys leave of the 64 bits, by
their ranks. Rows come in batches: each makes a run, and runs at least halve in length from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.kernels.combine import Ints
from weft.kernels.relations.tables import NEVER
from weft.times import Duration, Instant

PIECE = 1 << 22  # pairs that are made at a time, and those of one probing row
_BITS = 62
_SAMPLE = 1024
_FAR = 1 << 61  # a life that is longer has met whatever is there later


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """Rows that look for others that end after `since`; `rows` are their places as they came.

    They are sorted by key, for neighbours look at the same rows. No life is empty.
    """

    since: Ints
    keys: Ints
    begins: Ints
    ends: Ints
    rows: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Pairs of a probing row and one that is held, each with the time in which both live."""

    rows: Ints
    refs: Ints
    begins: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Times as numbers of `bits` bits: from the least on, or by rank among `ranked`."""

    base: Instant
    span: Duration
    bits: int
    ranked: Ints | None

    @classmethod
    def of(cls, times: Ints, most_keys: int) -> Scale:
        base = int(times.min())
        span = int(times.max()) - base
        if span.bit_length() + most_keys.bit_length() <= _BITS:
            return cls(base, span, span.bit_length(), None)
        ranked = np.unique(times)
        return cls(base, span, len(ranked).bit_length(), ranked)

    def encode(self, times: Ints) -> Ints:
        """The numbers of times; of any others, how many numbers lie before them."""
        if self.ranked is not None:
            return np.searchsorted(self.ranked, times)
        return np.clip(times, self.base, self.base + self.span + 1) - self.base

    def decode(self, codes: Ints) -> Ints:
        """The times of rows."""
        numbers = codes & ((1 << self.bits) - 1)
        times: Ints = self.base + numbers if self.ranked is None else self.ranked[numbers]
        return times


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Rows sorted by key and begin; `ends` None: each lives for `longest`."""

    scale: Scale
    codes: Ints
    refs: Ints
    ends: Ints | None
    longest: Duration
    worn: Instant  # about a quarter of the rows has ended
    last_end: Instant

    @classmethod
    def of(cls, keys: Ints, begins: Ints, ends: Ints, refs: Ints) -> Run:
        """A run of rows in any order; there is at least one."""
        scale = Scale.of(begins, int(keys.max()) + 1)
        codes = (keys << scale.bits) + scale.encode(begins)
        order = np.argsort(codes)
        lengths = lengths_of(begins, ends)
        longest = int(lengths.max())
        uneven = None if longest == int(lengths.min()) else ends[order]
        return cls(scale, codes[order], refs[order], uneven, longest, _quarter(ends), int(ends.max()))

    @property
    def nbytes(self) -> int:
        return int(2 * self.codes.nbytes + (0 if self.ends is None else self.ends.nbytes))

    def keys(self) -> Ints:
        return self.codes >> self.scale.bits

    def begins(self) -> Ints:
        return self.scale.decode(self.codes)

    def ends_at(self, at: Ints, begins: Ints) -> Ints:
        """The ends of the rows at some places, where they begin at `begins`."""
        if self.ends is not None:
            return self.ends[at]
        return np.full(len(at), NEVER) if self.longest == NEVER else begins + self.longest

    def rows(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Keys, begins, ends and numbers of all rows, as a run is made of them."""
        begins = self.begins()
        return self.keys(), begins, self.ends_at(np.arange(len(self.codes)), begins), self.refs

    def find(self, probe: Probe) -> Iterator[Found]:
        """The pairs of rows with equal keys whose lives overlap, a piece after the other."""
        first, behind = self._first(probe.since), self.scale.encode(probe.ends)
        some = np.flatnonzero(first < behind)
        keys = probe.keys[some] << self.scale.bits
        lo = np.searchsorted(self.codes, keys + first[some])
        counts = np.searchsorted(self.codes, keys + behind[some]) - lo
        met = np.flatnonzero(counts)
        some, lo, counts = some[met], lo[met], counts[met]
        pieces = (np.cumsum(counts) - counts) // PIECE
        for piece in np.split(np.arange(len(some)), np.flatnonzero(np.diff(pieces)) + 1):
            if len(piece):
                yield self._expand(probe, some[piece], lo[piece], counts[piece])

    def _expand(self, probe: Probe, some: Ints, lo: Ints, counts: Ints) -> Found:
        """Some of the probing rows, each with so many rows from `lo` on."""
        which = np.repeat(some, counts)
        at = np.arange(len(which)) + np.repeat(lo - (np.cumsum(counts) - counts), counts)
        begins = self.scale.decode(self.codes[at])
        ends = self.ends_at(at, begins)
        if self.ends is not None:
            met = np.flatnonzero(ends > probe.since[which])
            which, at, begins, ends = which[met], at[met], begins[met], ends[met]
        begins, ends = np.maximum(begins, probe.begins[which]), np.minimum(ends, probe.ends[which])
        return Found(probe.rows[which], self.refs[at], begins, ends)

    def _first(self, since: Ints) -> Ints:
        """The numbers of the first begins with which a row may end after `since`."""
        if self.longest >= _FAR:
            return np.zeros(len(since), np.int64)
        return self.scale.encode(since - self.longest + 1)


class Lot:
    """Rows that are looked through together, in sorted runs."""

    def __init__(self) -> None:
        self._runs: list[Run] = []

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self._runs)

    def add(self, keys: Ints, begins: Ints, ends: Ints, refs: Ints) -> None:
        rows, last = len(keys), len(self._runs)
        while last and len(self._runs[last - 1].codes) < 2 * rows:
            last -= 1
            rows += len(self._runs[last].codes)
        parts = [*(run.rows() for run in self._runs[last:]), (keys, begins, ends, refs)]
        self._runs[last:] = [Run.of(*(np.concatenate(columns) for columns in zip(*parts)))]

    def find(self, probe: Probe) -> Iterator[Found]:
        for run in self._runs:
            yield from run.find(probe)

    def expire(self, before: Instant) -> None:
        """Forget rows with `end <= before`: at least once they are a quarter of a run."""
        runs = [run for run in self._runs if run.last_end > before]
        self._runs = [_without(run, before) if run.worn <= before else run for run in runs]

    def rows_by_run(self) -> list[tuple[Ints, Ints, Ints, Ints]]:
        """Keys, begins, ends and numbers of the rows of each run, the longest first."""
        return [run.rows() for run in self._runs]

    def renumber(self, known: Ints) -> None:
        """Keys are from now on known by their places in `known`, which is ascending and has all of them."""
        for at, run in enumerate(self._runs):
            keys, *others = run.rows()
            self._runs[at] = Run.of(np.searchsorted(known, keys), *others)


def lengths_of(begins: Ints, ends: Ints) -> Ints:
    """How long the lives are; NEVER where they have no end."""
    endless = ends == NEVER
    return np.where(endless, NEVER, np.where(endless, 0, ends) - begins)


def _quarter(ends: Ints) -> Instant:
    """About when a quarter of these has passed, judged by some of them."""
    some = np.sort(ends[:: max(1, len(ends) // _SAMPLE)])
    return int(some[len(some) // 4])


def _without(run: Run, before: Instant) -> Run:
    keys, begins, ends, refs = run.rows()
    left = np.flatnonzero(ends > before)
    return Run.of(keys[left], begins[left], ends[left], refs[left])
