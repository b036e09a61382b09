"""By which keys new queries pick their groups: what is known of a stream decides, where something is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from weft.lang.statements import Expr
from weft.share.intervals import Range
from weft.share.members import Taken
from weft.share.model.treatment import Facts, Rest, asking, by_intervals, by_key, cheapest, signed
from weft.share.nodes import Op, Partial
from weft.share.partials import recipe
from weft.share.parts import conjuncts
from weft.share.predicates import About, Condition, Equals, Types, about
from weft.share.signatures import MOST, Signature, read_signature, signature_of

Picks = dict[str, tuple[str, ...]]  # by query: the keys it picks groups by


def judged(new: Mapping[str, Taken], known: Iterable[str], facts: Facts) -> dict[About, bool]:
    """Of the columns that something is known of: are they to be keys, or cut, for these queries?

    Those that are keys already, as others pick by them, are for these as well.
    """
    if not facts.load.is_known:
        return {}
    there = {(key, False): True for key in known}
    found: dict[About, list[tuple[Taken, Condition]]] = {}
    for taken in new.values():
        for one in taken.conditions:
            found.setdefault(about(one), []).append((taken, one))
    return {
        column: _pays(column, asked, facts)
        for column, asked in found.items()
        if column[1] or column[0] in facts.load.distinct
    } | there


def _pays(column: About, asked: Sequence[tuple[Taken, Condition]], facts: Facts) -> bool:
    rests = [_rest(taken, one, values=_values(one)) for taken, one in asked]
    if column[1]:
        bounds = {cut for _, one in asked if isinstance(one, Range) for cut in one.cuts}
        way = by_intervals(rests, len(bounds) + 1, facts)
    else:
        way = by_key(rests, facts.load.distinct[column[0]], facts)
    return cheapest([asking(rests, facts), way], facts) is way


def _values(condition: Condition) -> int:
    match condition:
        case Equals(values=values):
            return len(values)
        case Range():
            return 1


def with_signatures(
    new: Mapping[str, Taken], picks: Picks, known: Iterable[str], facts: Facts, types: Types
) -> Picks:
    """The same with a signature for those who pick by one.

    A query all of whose conditions are among the bits of one that is `known` joins it; others get a new one
    together, where that pays.
    """
    left = {name: conditions_left(taken, picks[name], types) for name, taken in new.items() if taken.may_pick}
    there = [read_signature(key) for key in known]
    found: dict[str, Signature] = {}
    for name, conditions in left.items():
        joined = next((each for each in there if conditions and each.has(conditions)), None)
        if joined is not None:
            found[name] = joined
    others = {
        name: _rest(new[name], frozenset(one.sql for one in conditions), conditions, picks[name])
        for name, conditions in left.items()
        if conditions and name not in found
    }
    mine = signed(others, facts, MOST)
    made = signature_of(one for name in mine for one in left[name]) if mine else None
    if made is not None:
        found |= dict.fromkeys(mine, made)
    return {name: (*keys, found[name].key.sql) if name in found else keys for name, keys in picks.items()}


def conditions_left(taken: Taken, keys: tuple[str, ...], types: Types) -> tuple[Expr, ...]:
    """What rows would be asked if the query picked by these keys, as a signature says it."""
    rest = taken.where.apart(keys, types).rest
    return () if rest is None else tuple(taken.said.get(part.sql, part) for part in conjuncts(rest))


def _rest(
    taken: Taken,
    predicate: Hashable,
    conditions: tuple[Expr, ...] = (),
    keys: tuple[str, ...] = (),
    values: int = 1,
) -> Rest:
    assert taken.parts.window is not None
    partials = [Partial(Op.COUNT)]
    partials += [partial for call in taken.safe.calls for partial in recipe(call, call.filter).partials]
    by = tuple(sorted({*(key.sql for key in taken.safe.keys), *keys}))
    return Rest(predicate, conditions, by, tuple(dict.fromkeys(partials)), taken.parts.window, values)
