"""Rows that look up a table: each meets the version in force at its own time, once, and keeps what it found.

So nothing of it is ever taken back, not even that there was no match: such a join goes by the pattern of its
rows (Golab 2006, 3.3.1: non-retroactive relations).
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.plan.relations import Emitted, Entries, Kept, Made, Merged, Paired, Relation, Rows, Whether


@dataclass(frozen=True, slots=True)
class Lookup:
    """`rows` look up `entries`."""

    rows: Relation
    entries: Entries


def lookup(relation: Relation) -> Lookup | None:
    """What looks up what; None: it is not a look-up, or both sides of it may change."""
    match relation:
        case Paired(
            kind=JoinKind.INNER | JoinKind.LEFT, left=rows, right=Entries(retroactive=False) as entries
        ):
            return Lookup(rows, entries)
        case Paired(
            kind=JoinKind.INNER | JoinKind.RIGHT, left=Entries(retroactive=False) as entries, right=rows
        ):
            return Lookup(rows, entries)
        case Whether(source=rows, other=Entries(retroactive=False) as entries):
            return Lookup(rows, entries)
        case _:
            return None


def passes_on(relation: Relation) -> bool:
    """Is every row told as it comes, and then of no more use? Its window only says how long it holds."""
    if (found := lookup(relation)) is not None:
        return passes_on(found.rows)
    match relation:
        case Rows():
            return True
        case Emitted(source=source, emission=Emission.LIVES) | Kept(source=source) | Made(source=source):
            return passes_on(source)
        case Merged(kind=SetKind.UNION, all=True, left=left, right=right):
            return passes_on(left) and passes_on(right)
        case _:
            return False
