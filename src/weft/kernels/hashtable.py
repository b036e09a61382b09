"""Distinct hashes numbered in order of appearance: open addressing, whole batches at a time.

    slots     . 2 . . 0 1 . .        the place of a hash is that of its highest bits, or a free one behind it
    hashes    h0 h1 h2               by number

The highest bits, because the lowest choose a group's bucket in a cluster: within a bucket they are all alike.
At least every second slot is free; most of them while there are few, so that few hashes are looked up twice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.combine import Ints
from weft.kernels.growing import Growing
from weft.kernels.plain import NOWHERE, Words

_FREE = -1
_LEAST_BITS = 12
_PIECE = 1 << 13  # at least so many hashes are added at a time


class HashTable:
    def __init__(self) -> None:
        self._hashes = Growing(np.zeros(0, np.uint64))
        self._clear(_LEAST_BITS)

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def nbytes(self) -> int:
        return int(self._slots.nbytes) + self._hashes.nbytes

    def _clear(self, bits: int) -> None:
        self._slots: npt.NDArray[np.int32] = np.full(1 << bits, _FREE, np.int32)

    def find(self, hashes: Words) -> Ints:
        """The numbers of the hashes, -1 where they are not known."""
        known = self._hashes.used
        if not len(known):
            return np.full(len(hashes), _FREE, np.int64)
        places = self._places(hashes)
        found = self._slots[places].astype(np.int64)
        others = np.flatnonzero((known[found] != hashes) & (found != _FREE))
        step = 1
        while others.size:
            places[others] = at = (places[others] + step) & (len(self._slots) - 1)
            found[others] = held = self._slots[at]
            others = others[(known[held] != hashes[others]) & (held != _FREE)]
            step += 1
        return found

    def add(self, hashes: Words) -> tuple[Ints, Ints]:
        """The numbers of the hashes, new where they are not known; and where each new one is met first.

        Piece by piece, for a batch may hold a few hashes again and again: the slots at most double for each.
        """
        found, firsts = self.find(hashes), [NOWHERE]
        missing = np.flatnonzero(found == _FREE)
        while missing.size:
            piece = missing[: max(_PIECE, len(self))]
            found[piece], first = self._insert(hashes[piece])
            firsts.append(piece[first])
            missing = missing[len(piece) :]
            if missing.size:
                found[missing] = self.find(hashes[missing])
                missing = missing[found[missing] == _FREE]
        return found, np.concatenate(firsts)

    def _places(self, hashes: Words) -> Ints:
        bits = len(self._slots).bit_length() - 1
        return (hashes >> np.uint64(64 - bits)).astype(np.int64)

    def _insert(self, hashes: Words) -> tuple[Ints, Ints]:
        """The numbers of hashes that are not known yet, some perhaps there twice; and the first of each."""
        count = len(self)
        if 2 * (count + len(hashes)) > len(self._slots):
            self._clear(max(_LEAST_BITS, (2 * (count + len(hashes)) - 1).bit_length()))
            self._settle(self._hashes.used, 0)
        self._hashes.extend(hashes)
        owner, places = self._settle(hashes, count)
        first = np.flatnonzero(owner == np.arange(len(hashes)))
        numbers = np.full(len(hashes), _FREE, np.int64)
        numbers[first] = count + np.arange(len(first))
        self._slots[places[first]] = numbers[first]
        self._hashes.truncate(count)
        self._hashes.extend(hashes[first])
        return numbers[owner], first

    def _settle(self, hashes: Words, count: int) -> tuple[Ints, Ints]:
        """Give each hash a slot, as if they were numbered from `count` on: equal ones that of the first.

        The first of equal hashes for each, and the slots. All that want a free slot are written to it, the
        last of these stays: so they go backwards, and equal hashes share their way.
        """
        places, owner = self._places(hashes), np.empty(len(hashes), np.int64)
        waiting = np.arange(len(hashes) - 1, -1, -1)
        known, step = self._hashes.used, 1
        while waiting.size:
            at = places[waiting]
            free = self._slots[at] == _FREE
            self._slots[at[free]] = count + waiting[free]
            held = self._slots[at]
            same = known[held] == hashes[waiting]
            owner[waiting[same]] = held[same] - count
            waiting = waiting[~same]
            places[waiting] = (places[waiting] + step) & (len(self._slots) - 1)
            step += 1
        return owner, places
