"""Every way that a query of a program could be treated, and switches from one to the other at random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from weft.plan.nodes import Program, Related
from weft.share.intervals import Range, cut_at
from weft.share.members import Taken, take
from weft.share.parts import parts
from weft.share.predicates import Condition, Equals
from weft.share.signatures import signature_of
from weft.share.strands import in_strand
from weft.share.treatments import conditions_left

Keys = tuple[str, ...]
STRANDS = 3


def treatments(program: Program) -> dict[str, list[Keys]]:
    """By query the keys that it could pick by; those that cannot pick are left out."""
    found: dict[str, list[Keys]] = {}
    single = [(query, parts(query)) for query in program.queries if not isinstance(query.plan, Related)]
    for stream in program.streams:
        types = {column.name: column.type for column in stream.columns}
        mine = [
            take(query, taken_apart, types)
            for query, taken_apart in single
            if taken_apart.stream == stream.name
        ]
        picking = [taken for taken in mine if taken.may_pick and taken.safe.where is not None]
        ranges = _ranges(picking)
        signed = signature_of(one for taken in picking for one in conditions_left(taken, (), types))
        for taken in picking:
            plain = [(), *(_key(one, ranges) for one in taken.conditions)]
            ways = [*plain, *([(signed.key.sql,)] if signed is not None else [])]
            found[taken.query.name] = [in_strand(way, strand) for way in ways for strand in range(STRANDS)]
    return found


def _ranges(taken: list[Taken]) -> dict[str, str]:
    """By column the key that it is cut into by all ranges of it."""
    by: dict[str, list[Range]] = {}
    for one in (condition for each in taken for condition in each.conditions):
        if isinstance(one, Range):
            by.setdefault(one.column.sql, []).append(one)
    return {column: cut_at(each).key.sql for column, each in by.items()}


def _key(condition: Condition, ranges: Mapping[str, str]) -> Keys:
    match condition:
        case Equals(column=column):
            return (column.sql,)
        case Range(column=column):
            return (ranges[column.sql],)


def switches(rng: Random, ways: Mapping[str, list[Keys]]) -> Iterator[dict[str, Keys]]:
    """For each batch the queries that are switched before it, and to what; of many batches none."""
    while True:
        some = [name for name in ways if rng.random() < 0.5] if rng.random() < 0.5 else []
        yield {name: rng.choice(ways[name]) for name in some}
