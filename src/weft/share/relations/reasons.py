"""Why a node of the graph is carried out as it is, and what it holds: in the words of explain."""

from __future__ import annotations

from typing import assert_never

from weft.lang.bodies import Emission
from weft.plan.relationpatterns import Pattern, is_internal, relation_pattern
from weft.plan.relations import Distinct, Emitted, Entries, Relation
from weft.plan.relationtree import is_windowed, walk
from weft.share.relations.means import Means


def reason(means: Means) -> str:
    """What the update patterns of its sources have to do with it."""
    match means:
        case Means.READS_CHANGES | Means.PAIRS_IN_A_LIST | Means.LONGEST_IN_A_LIST:
            return "a yardstick: what update patterns are compared to"
        case Means.READS | Means.FILTER | Means.COLUMNS | Means.UNION:
            return "rows are passed on as they come"
        case Means.VERSIONS:
            return "rows come and go by their key"
        case Means.LATEST:
            return "strict: the next change of its key takes the place of a row"
        case Means.AWAITS:
            return "each row sees the entry in force at its own time, once the table's stream has passed it"
        case Means.STAY:
            return "every row lasts as long from when it begins to hold"
        case Means.TAP:
            return "two streams: pairs are found once for all"
        case Means.ORDERED:
            return "not strict: only windows are held, and the order follows what is counted"
        case Means.PAIRS:
            return "no side is strict: when a pair ends is known when it is found"
        case Means.PAIRS_OF_CHANGES:
            return "one side is strict: pairs are taken back with its rows"
        case Means.CONSULTS:
            return "each row sees the version in force at its own time, and keeps what it saw"
        case Means.CHECK:
            return "strict: rows of the other side decide"
        case Means.COUNTS:
            return "strict: how many equal rows there are decides"
        case Means.LONGEST:
            return "not strict: when rows end is known, so one that goes on is enough"
        case Means.LOOKS | Means.FIRST | Means.GROUPS_AS_OF:
            return "asked as of each slide alone"
        case Means.GROUPS_ALWAYS:
            return "strict: a new value replaces the one before"
        case _:
            assert_never(means)


def holds(means: Means) -> str:
    """What a node holds in what; empty: nothing."""
    match means:
        case Means.READS | Means.FILTER | Means.COLUMNS | Means.UNION | Means.FIRST | Means.TAP:
            return ""
        case Means.VERSIONS | Means.CONSULTS:
            return "versions of the table by key"
        case Means.LATEST:
            return "the last row of each key, for ever"
        case Means.AWAITS:
            return "rows that wait, and entries by key, those in force for ever"
        case Means.READS_CHANGES:
            return "rows until they end"
        case Means.PAIRS_IN_A_LIST | Means.LONGEST_IN_A_LIST:
            return "rows in a list"
        case Means.STAY:
            return "a calendar of changes to come, where rows have no lives of their own"
        case Means.ORDERED:
            return "rows of each source, sorted by key and begin"
        case Means.PAIRS:
            return "rows of both sides, sorted by key and begin"
        case Means.PAIRS_OF_CHANGES:
            return "changes of both sides by key, and calendars of changes to come"
        case Means.CHECK:
            return "rows, keys or rows of the other side, how many partners, and calendars of changes to come"
        case Means.COUNTS:
            return "how often each row is there, and a calendar of changes to come"
        case Means.LONGEST:
            return "what was told, and of equal rows the one that goes on"
        case Means.LOOKS | Means.GROUPS_AS_OF:
            return "rows until the last slide that sees them"
        case Means.GROUPS_ALWAYS:
            return "groups as they were told with totals or rows, and a calendar of changes to come"
        case _:
            assert_never(means)


def when(top: Emitted) -> str:
    """When its answers come."""
    if is_windowed(top.source):
        return "with the watermark, once it has reached the end of the slide"
    told = top.emission in (Emission.LIVES, Emission.WSTREAM)
    if told and not any(_waits(node) for node in walk(top.source)):
        awaited = [e.stream for e in walk(top.source) if isinstance(e, Entries) and e.stream is not None]
        if awaited:
            return (
                f"with the watermark of {', '.join(dict.fromkeys(awaited))}: until then its table may change"
            )
        return "with the batch that completes it: nothing that comes later changes it"
    if top.emission is Emission.CHANGES:
        return "with the batch, taken back where later rows say otherwise"
    return "with the watermark: until then rows may come that change it"


def valid_to(top: Emitted) -> str | None:
    """What the column means for this query; None: its answers have none."""
    if is_windowed(top.source):
        return None
    match top.emission:
        case Emission.LIVES | Emission.WSTREAM if relation_pattern(top.source) is Pattern.STRICT:
            return "null: other rows decide when it ends"
        case Emission.LIVES | Emission.WSTREAM if is_internal(top.source):
            return "null: windows only bound what is held"
        case Emission.LIVES | Emission.WSTREAM if any(isinstance(n, Distinct) for n in walk(top.source)):
            return "when the row that it was told for leaves; while an equal row is there it is told anew"
        case Emission.LIVES | Emission.WSTREAM if top.ends:
            return "when the first of the rows that it is made of leaves a window that is not internal"
        case Emission.LIVES | Emission.WSTREAM:
            return "when the first of the rows that it is made of leaves its window"
        case Emission.DSTREAM:
            return "when it ended"
        case _:
            return None


def _waits(relation: Relation) -> bool:
    """Do its rows depend on others that may still come?"""
    return isinstance(relation, Distinct) or relation_pattern(relation) is Pattern.STRICT
