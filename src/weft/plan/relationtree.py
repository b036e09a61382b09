"""Walking and rewriting relations, and what their rows look like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from weft.lang.bodies import Emission
from weft.plan.nodes import Column
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
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
from weft.times import Duration, Instant

WINDOW = (Column("window_start", "timestamp"), Column("window_end", "timestamp"))

_TOLD = {
    Emission.LIVES: (Column("valid_from", "timestamp"), Column("valid_to", "timestamp")),
    Emission.ISTREAM: (Column("valid_from", "timestamp"),),
    Emission.DSTREAM: (Column("valid_to", "timestamp"),),
    Emission.RSTREAM: (),
    Emission.WSTREAM: (Column("valid_from", "timestamp"), Column("valid_to", "timestamp")),
    Emission.CHANGES: (Column("change", "string"), Column("changed_at", "timestamp")),
}


def below(relation: Relation) -> tuple[Relation, ...]:
    """The relations it is made of, from left to right."""
    match relation:
        case Rows() | Entries():
            return ()
        case Paired(left=left, right=right) | Merged(left=left, right=right):
            return left, right
        case Whether(source=source, other=other):
            return source, other
        case Lasting() | Kept() | Made() | Distinct() | AsOf() | Grouped() | Leading() | Emitted():
            return (relation.source,)
        case _:
            assert_never(relation)


def walk(relation: Relation) -> Iterator[Relation]:
    """The node itself, then all below it."""
    yield relation
    for each in below(relation):
        yield from walk(each)


def rewrite_up(relation: Relation, rule: Callable[[Relation], Relation]) -> Relation:
    """The relation with `rule` applied to every node, those below first; the same object if none changed."""
    before = below(relation)
    after = tuple(rewrite_up(each, rule) for each in before)
    same = all(one is other for one, other in zip(before, after, strict=True))
    return rule(relation if same else onto(relation, after))


def onto(relation: Relation, sources: tuple[Relation, ...]) -> Relation:
    """The same node over other sources."""
    match relation:
        case Rows() | Entries():
            return relation
        case Paired() | Merged():
            return replace(relation, left=sources[0], right=sources[1])
        case Whether():
            return replace(relation, source=sources[0], other=sources[1])
        case Lasting() | Kept() | Made() | Distinct() | AsOf() | Grouped() | Leading() | Emitted():
            return replace(relation, source=sources[0])
        case _:
            assert_never(relation)


def columns(relation: Relation) -> tuple[Column, ...]:
    """The columns of its rows."""
    match relation:
        case Rows(items=items) | Entries(items=items) | Made(items=items):
            return tuple(Column(item.name, item.type) for item in items)
        case Paired(left=left, right=right):
            return columns(left) + columns(right)
        case Merged(left=left):
            return columns(left)
        case Lasting() | Kept() | Whether() | Distinct() | Leading():
            return columns(relation.source)
        case AsOf(source=source):
            return WINDOW + columns(source)
        case Grouped(keys=keys, aggregations=aggregations):
            made = (*(Column(key.name, key.type) for key in keys),)
            made += (*(Column(call.name, call.type) for call in aggregations),)
            return (WINDOW if isinstance(relation.source, AsOf) else ()) + made
        case Emitted(source=source, emission=emission):
            below_ = told_columns(relation)
            return below_ if is_windowed(source) else _TOLD[emission] + below_
        case _:
            assert_never(relation)


def told_columns(relation: Emitted) -> tuple[Column, ...]:
    """The columns of the source that are told."""
    hidden = {ending.name for ending in relation.ends}
    return tuple(one for one in columns(relation.source) if one.name not in hidden)


def windows(relation: Relation) -> Iterator[Rows | Lasting]:
    """The windows that say how long what is told of it lives.

    Those below a window over a result, or below what is answered as of each slide, have no say in it.
    """
    match relation:
        case Rows() | Lasting():
            yield relation
        case AsOf():
            return
        case _:
            for each in below(relation):
                yield from windows(each)


def is_windowed(relation: Relation) -> bool:
    """Do its rows say of which window they are?"""
    return columns(relation)[:2] == WINDOW and any(isinstance(node, AsOf) for node in walk(relation))


def streams(relation: Relation) -> tuple[str, ...]:
    """The streams it depends on, each once, in order: those whose rows it reads, or tables are made of."""
    read = (node.stream for node in walk(relation) if isinstance(node, Rows | Entries))
    return tuple(dict.fromkeys(stream for stream in read if stream is not None))


def rows_read(relation: Relation) -> frozenset[str]:
    """The streams of which it reads rows."""
    return frozenset(node.stream for node in walk(relation) if isinstance(node, Rows))


def tables(relation: Relation) -> tuple[str, ...]:
    """The tables it reads, each once, in order."""
    return tuple(dict.fromkeys(node.table for node in walk(relation) if isinstance(node, Entries)))


def last_end(relation: Relation) -> Duration:
    """How long after the last row something may still end; what lives for ever does not."""
    longest = max((last_end(each) for each in below(relation)), default=0)
    match relation:
        case Rows(range=range_) | Lasting(range=range_):
            return longest + (range_ or 0)
        case AsOf(slide=slide):
            return longest + slide
        case _:
            return longest


def changes_for(relation: Relation) -> dict[str, Duration]:
    """For how long after the last row of each of its streams it may change: until that leaves its windows."""
    match relation:
        case Rows(stream=stream, range=range_):
            return {stream: range_ or 0}
        case Entries(stream=str(stream)):
            return {stream: 0}
        case Lasting(range=range_):
            more = range_ or 0
        case AsOf(slide=slide):
            more = slide
        case _:
            more = 0
    found: dict[str, Duration] = {}
    for each in below(relation):
        for stream, duration in changes_for(each).items():
            found[stream] = max(found.get(stream, 0), duration + more)
    return found


def last_change(relation: Relation, latest: Mapping[str, Instant]) -> Instant | None:
    """When the last row of its streams comes or leaves its window; None: they have none.

    `latest`: their greatest event times.
    """
    lasting = changes_for(relation).items()
    return max((latest[stream] + more for stream, more in lasting if stream in latest), default=None)


def reach_back(relation: Relation) -> Duration | None:
    """How long before `t` a row may lie that what is there as of `t` depends on; None: without bound."""
    longest: Duration = 0
    for each in below(relation):
        back = reach_back(each)
        if back is None:
            return None
        longest = max(longest, back)
    match relation:
        case Rows(range=range_) | Lasting(range=range_):
            return None if range_ is None else longest + range_
        case Emitted(source=source, emission=Emission.RSTREAM):
            return longest + _outlives(source)
        case Emitted(source=source):  # what is new of a window, the one before says
            slides = (node.slide for node in walk(source) if isinstance(node, AsOf))
            return longest + _outlives(source) + max(slides, default=0)
        case _:
            return longest


def _outlives(relation: Relation) -> Duration:
    """How long what is told may be there after a row that it is made of has left its internal window."""
    leaves = [each for each in windows(relation) if isinstance(each, Rows)]
    if not any(each.internal for each in leaves):
        return 0
    return max((each.range or 0 for each in leaves if not each.internal), default=0)
