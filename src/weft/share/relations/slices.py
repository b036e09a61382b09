"""The slices of a chain: for how long rows of one side are wanted, by whom, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.share.relations.classes import Classes
from weft.share.relations.links import Link, Wanted
from weft.times import Duration


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows wanted for `range` (None: for ever), those that meet one of `conditions` (none: all).

    `at`: the class they lie in; several slices may lie in one.
    """

    range: Duration | None
    conditions: tuple[str, ...]
    queries: tuple[str, ...]
    at: int


def slices(
    wanted: Mapping[Link, Wanted], queries: Mapping[Link, tuple[str, ...]], classes: Classes
) -> list[Slice]:
    """One for each range, the shortest first."""
    ranges = sorted({each.range for each in wanted.values() if each.range is not None})
    lengths: list[Duration | None] = list(ranges)
    if any(each.range is None for each in wanted.values()):
        lengths.append(None)
    return [_slice(length, wanted, queries, classes) for length in lengths]


def _slice(
    length: Duration | None,
    wanted: Mapping[Link, Wanted],
    queries: Mapping[Link, tuple[str, ...]],
    classes: Classes,
) -> Slice:
    mine = [link for link, each in wanted.items() if each.range == length]
    wheres = [wanted[link].where for link in mine]
    conditions = () if None in wheres else tuple(dict.fromkeys(w.sql for w in wheres if w is not None))
    names = tuple(dict.fromkeys(name for link in mine for name in queries[link]))
    at = next((at for at, some in enumerate(classes) if length in some), len(classes))
    return Slice(length, conditions, names, at)
