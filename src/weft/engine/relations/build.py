"""The operator of each node of the graph: which one was decided where explain can say why."""

from __future__ import annotations

from collections.abc import Mapping

from weft.engine.relations.changing import Checking, PairingChanges
from weft.engine.relations.counting import Comparing
from weft.engine.relations.deduplicating import Deduplicating, DeduplicatingAll
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.grouping import GroupingAlways, GroupingAsOf
from weft.engine.relations.joining import Joining
from weft.engine.relations.leading import Choosing
from weft.engine.relations.looking import Looking
from weft.engine.relations.operator import Keeping, Making, Operator, Uniting
from weft.engine.relations.pairing import PairingLives
from weft.engine.relations.reading import Reading, ReadingChanges
from weft.engine.relations.staying import Staying
from weft.errors import Bug
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
    Rows,
    Whether,
)
from weft.plan.relationtree import columns
from weft.share.relations.means import Means
from weft.share.relations.weave import Node


def operator(node: Node, declared: Mapping[str, Stream], finisher: Finisher) -> Operator:
    """What carries out this node over those below it."""
    relation, bound = node.key
    match node.means, relation:
        case Means.READS_CHANGES, Rows(stream=stream):
            return ReadingChanges(relation, declared[stream].statement.time_column, bound)
        case Means.READS, Rows(stream=stream):
            return Reading(relation, declared[stream].statement.time_column, bound)
        case Means.FILTER, Kept():
            return Keeping(relation, columns(relation), finisher)
        case Means.COLUMNS, Made(source=source):
            return Making(relation, columns(source), columns(relation), finisher)
        case Means.STAY, Lasting():
            return Staying(relation)
        case Means.UNION, Merged():
            return Uniting(columns(relation))
        case Means.ORDERED, Paired() if node.many is not None:
            return Joining(relation, node.many, finisher)
        case Means.PAIRS | Means.PAIRS_IN_A_LIST, Paired():
            return PairingLives(relation, finisher, node.means is Means.PAIRS_IN_A_LIST)
        case Means.PAIRS_OF_CHANGES, Paired():
            return PairingChanges(relation, finisher)
        case Means.LOOKS, AsOf():
            return Looking(relation)
        case Means.FIRST, Leading():
            return Choosing(relation, finisher)
        case Means.GROUPS_AS_OF, Grouped():
            return GroupingAsOf(relation, finisher)
        case Means.GROUPS_ALWAYS, Grouped():
            return GroupingAlways(relation, finisher)
        case Means.CHECK, Whether():
            return Checking(relation, finisher)
        case Means.COUNTS, Distinct() | Merged():
            return Comparing(relation)
        case Means.LONGEST_IN_A_LIST, Distinct():
            return DeduplicatingAll(relation)
        case Means.LONGEST, Distinct():
            return Deduplicating(relation)
        case _:
            raise Bug("no-operator", f"nothing carries out {type(relation).__name__}")
