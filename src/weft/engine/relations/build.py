"""Which operator carries out a relation: decided by the update patterns of what it rests on."""

from __future__ import annotations

from collections.abc import Mapping

from weft.engine.relations.changing import Checking, PairingChanges
from weft.engine.relations.counting import Comparing
from weft.engine.relations.deduplicating import Deduplicating, DeduplicatingAll
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.grouping import GroupingAlways, GroupingAsOf
from weft.engine.relations.leading import Choosing
from weft.engine.relations.looking import Looking
from weft.engine.relations.operator import Keeping, Making, Operator, Uniting
from weft.engine.relations.pairing import PairingLives
from weft.engine.relations.reading import Reading, ReadingChanges
from weft.engine.relations.staying import Staying
from weft.engine.relations.strategy import Strategy
from weft.errors import Bug
from weft.lang.bodies import SetKind
from weft.plan.nodes import Stream
from weft.plan.relations import (
    AsOf,
    Distinct,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import columns
from weft.times import Instant


def operator(
    relation: Relation,
    bound: Instant,
    declared: Mapping[str, Stream],
    finisher: Finisher,
    strategy: Strategy = Strategy.PATTERNS,
) -> Operator:
    """What carries out this node over those below it."""
    changes, flat = strategy.changes(relation), strategy is Strategy.DIRECT
    match relation:
        case Rows(stream=stream):
            reading = ReadingChanges if changes else Reading
            return reading(relation, declared[stream].statement.time_column, bound)
        case Kept():
            return Keeping(relation, columns(relation), finisher)
        case Made(source=source):
            return Making(relation, columns(source), columns(relation), finisher)
        case Lasting():
            return Staying(relation)
        case Merged(kind=SetKind.UNION, all=True):
            return Uniting(columns(relation))
        case Paired() if not changes:
            return PairingLives(relation, finisher, flat)
        case AsOf():
            return Looking(relation)
        case Leading():
            return Choosing(relation, finisher)
        case Grouped(source=AsOf()):
            return GroupingAsOf(relation, finisher)
        case Grouped():
            return GroupingAlways(relation, finisher)
        case Paired():
            return PairingChanges(relation, finisher)
        case Whether():
            return Checking(relation, finisher)
        case Distinct() if not changes:
            return DeduplicatingAll(relation) if flat else Deduplicating(relation)
        case Distinct() | Merged():
            return Comparing(relation)
        case _:
            raise Bug("no-operator", f"nothing carries out {type(relation).__name__}")
