"""How many different keys joins have seen: what says how many pairs others will find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from weft.plan.relations import Relation
from weft.share.relations.flows import key_of


@dataclass(frozen=True, slots=True)
class Matched:
    """So many values of a key of a stream."""

    stream: str
    key: str
    values: int


def matched(names: Sequence[str], relation: Relation, values: int) -> Iterator[Matched]:
    """The columns that rows of a relation are matched by, as a key of its stream, if they are of one."""
    found = key_of(names, relation)
    if found is not None and values:
        yield Matched(*found, values)


def by_stream(found: Iterable[Matched]) -> dict[str, dict[str, int]]:
    """The most values of each key."""
    streams: dict[str, dict[str, int]] = {}
    for each in found:
        mine = streams.setdefault(each.stream, {})
        mine[each.key] = max(mine.get(each.key, 0), each.values)
    return streams
