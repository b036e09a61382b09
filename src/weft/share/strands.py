"""Strands: groups of queries whose cells are cut at the edges of their own windows alone.

    rows ── cells cut at the edges of all windows ─┬─ strand 0   folded into the slices of its windows
                                                   └─ strand 1   folded into the slices of its own

The literature's third level (TriWeave). Which strand a query is of stands among the keys that it picks groups
by, as `strand(1)`; none is strand 0. So a query changes its strand as it changes its keys, by a switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_STRAND = re.compile(r"strand\((\d+)\)")

Keys = tuple[str, ...]


def strand_of(keys: Iterable[str]) -> int:
    """The strand of a query that picks by these keys."""
    return next((int(found[1]) for key in keys if (found := _STRAND.fullmatch(key))), 0)


def without_strand(keys: Iterable[str]) -> Keys:
    """The keys alone."""
    return tuple(key for key in keys if not _STRAND.fullmatch(key))


def in_strand(keys: Iterable[str], strand: int) -> Keys:
    """The same keys in another strand."""
    return (*without_strand(keys), *([f"strand({strand})"] if strand else []))
