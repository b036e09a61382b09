"""64-bit hashes of keys, the same for the same keys wherever and whenever they are computed.

A promise, for the hash of a group tells where in a cluster the group lives, also after a restart: it follows
from the values, their kind of type and the seed alone. Not from the process, the platform, the version of
Python, numpy or Arrow, the way rows were cut into batches, or the other rows of a batch. Integers of all
widths, dates and times hash by their number; strings and binaries by their bytes; -0.0 as 0.0 and every NaN
as one; null has a hash of its own. All bits are mixed well: any of them may be used to choose a bucket.

Words are mixed as in SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
2014), and the hash of each key into that of those before it. The words of a text are mixed one by one, each
with the salt of its place, and put together by exclusive or, so that all rows are done at once: a word that
is zero adds nothing, and so it does not matter how many of them follow a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Ints
from weft.kernels.plain import BLOCK, Fixed, Plain, Text, Words, plain

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xD6E8FEB86659FD93)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def hash_keys(keys: Sequence[pa.Array], rows: int, seed: int = 0) -> Words:
    """One hash for the keys of each row."""
    return hash_plain([plain(key) for key in keys], rows, seed)


def hash_plain(keys: Sequence[Plain], rows: int, seed: int = 0) -> Words:
    hashes = np.zeros(rows, np.uint64)
    for at, key in enumerate(keys):
        if at:
            _mix(hashes)
        hashes ^= _hash_fixed(key, seed) if isinstance(key, Fixed) else _hash_text(key, seed)
        if key.valid is not None:
            hashes[~key.valid] ^= _NULL
    return hashes


def _hash_fixed(key: Fixed, seed: int) -> Words:
    salt = _salts(seed, 0)[0][0]
    first, *more = key.words()
    hashes: Words = first ^ salt
    _mix(hashes)
    for word in more:
        hashes ^= word
        _mix(hashes)
    return hashes


def _hash_text(key: Text, seed: int) -> Words:
    """The length goes with the first word, so that no two texts have the same words."""
    salts, nothing = _salts(seed, 0)
    words = key.head ^ salts[: len(key.head)]
    words[0] ^= key.length.view(np.uint64) * _GOLDEN
    _mix(words)
    hashes: Words = words[0]
    for word, zero in zip(words[1:], nothing[1:]):
        hashes ^= word
        hashes ^= zero
    if key.rest is not None:
        _add_rest(hashes, *key.rest, seed)
    return hashes


def _add_rest(hashes: Words, rows: Ints, rest: Text, seed: int) -> None:
    """The blocks behind the first, of ever fewer rows."""
    place = 1
    while True:
        salts, nothing = _salts(seed, place)
        words = rest.head ^ salts[: len(rest.head)]
        _mix(words)
        words ^= nothing[: len(words)]
        hashes[rows] ^= np.bitwise_xor.reduce(words, axis=0)
        if rest.rest is None:
            return
        some, rest = rest.rest
        rows, place = rows[some], place + 1


@lru_cache(maxsize=64)
def _salts(seed: int, block: int) -> tuple[Words, Words]:
    """For the words of a block [word, 1] what they are mixed with, and what comes out of zeros."""
    places = np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint64)
    salts: Words = (places + np.uint64(seed << 32)) * _GOLDEN + _GOLDEN
    _mix(salts)
    zeros = salts.copy()
    _mix(zeros)
    return salts[:, None], zeros[:, None]


def _mix(words: Words) -> None:
    """Every bit of the result depends on every bit of the word; different words stay different."""
    spare = words >> _SHIFTS[0]
    words ^= spare
    words *= _FIRST
    words ^= np.right_shift(words, _SHIFTS[1], out=spare)
    words *= _SECOND
    words ^= np.right_shift(words, _SHIFTS[2], out=spare)
