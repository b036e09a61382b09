"""Other treatments for queries that run: those they would have if all of them were added now.

What was counted decides, and nothing else: a query stays as it is treated where the keys that it would pick
by have not been counted. A column that no feed is grouped by is counted by a sketch if queries ask for its
values; until then, if k of them are found in a part p of the rows, it has about k / p. Where treatments are
as they should be, queries may still be better off in other strands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count, islice

from weft.lang.parse import parse_expression
from weft.plan.nodes import Program
from weft.share.build import build
from weft.share.intervals import is_interval
from weft.share.loom import Loom
from weft.share.members import Taken
from weft.share.model.cost import Level
from weft.share.model.forecast import Basis, cost_of
from weft.share.model.load import Load, Loads
from weft.share.model.offer import Limits, Offer
from weft.share.model.plans import TRIWEAVE, Ways
from weft.share.nodes import StreamPlan
from weft.share.parts import conjuncts
from weft.share.picking import show_key
from weft.share.predicates import Equals, Hidden, Turn
from weft.share.signatures import is_signature, read_signature
from weft.share.strands import in_strand, strand_of, without_strand
from weft.times import BEGINNING, SECOND

Keys = tuple[str, ...]

MOST = 4  # kinds of changes that are weighed by themselves


def best_offer(
    taken: Sequence[Taken], plan: StreamPlan, hidden: Hidden, basis: Basis, limits: Limits
) -> Offer | None:
    """The switch that pays best, of all queries that would be treated otherwise or of one kind; None: none.

    `taken` are the queries of a stream, `plan` is theirs, and they pick by `hidden` now. Most often nothing
    would change; only else plans are made and priced.
    """
    stream = plan.stream
    load = _known(basis.loads.of(stream.name), plan, taken, hidden)
    basis = replace(basis, loads=Loads({stream.name: load}))
    decided = Loom.decided(stream, taken, basis)
    wanted = {name: _certain(keys, load) for name, keys in decided.items()}
    changes = {
        name: in_strand(keys, strand_of(hidden.get(name, ())))
        for name, keys in wanted.items()
        if _kind(keys) != _kind(hidden.get(name, ())) and all(_is_counted(key, load) for key in keys)
    }
    changes = changes or _other_strands(plan, taken, hidden, basis, limits)
    if not changes:
        return None
    program = Program((stream,), tuple(each.query for each in taken))
    (now,) = build(program, hidden, basis).streams
    weighed = [_offer(program, now, hidden, some, basis) for some in _sets(changes, hidden)]
    paying = [offer for offer in weighed if offer.pays(limits)]
    return max(paying, key=lambda each: each.gain * limits.horizon - each.price(limits), default=None)


def _other_strands(
    plan: StreamPlan, taken: Sequence[Taken], hidden: Hidden, basis: Basis, limits: Limits
) -> dict[str, Keys]:
    """Queries that would be of other strands if they were shared in the cheapest way.

    All that strands can save is folding and answering: where that is little, nothing is looked for.
    """
    load, cost = basis.loads.of(plan.stream.name), cost_of(plan, basis)
    strands = {each.query.name: strand_of(hidden.get(each.query.name, ())) for each in taken}
    within = cost.levels[Level.FOLD] + cost.levels[Level.FINAL]
    if within < limits.gain * (cost.total - cost.levels[Level.FIXED]) and not any(strands.values()):
        return {}
    way = Ways(plan, basis.constants).chosen(load)
    groups = [[tap.query.name for tap in group.taps] for group in way.plans] if way.name == TRIWEAVE else []
    numbers = _numbered(groups, strands)
    wanted = {each.query.name: numbers.get(each.query.name, 0) for each in taken if each.may_pick}
    if _alike(wanted) == _alike({name: strands[name] for name in wanted}):
        return {}
    return {name: in_strand(hidden.get(name, ()), at) for name, at in wanted.items() if at != strands[name]}


def _numbered(groups: Sequence[Sequence[str]], strands: Mapping[str, int]) -> dict[str, int]:
    """By query the strand of its group: where most of that is already, unless more of another is there."""
    there = Counter((strands[name], at) for at, names in enumerate(groups) for name in names)
    found: dict[int, int] = {}
    for (strand, at), _ in there.most_common():
        if at not in found and strand not in found.values():
            found[at] = strand
    free = (number for number in count() if number not in set(found.values()))
    left = [at for at in range(len(groups)) if at not in found]
    found |= dict(zip(left, islice(free, len(left)), strict=True))
    return {name: found[at] for at, names in enumerate(groups) for name in names}


def _alike(strands: Mapping[str, int]) -> set[frozenset[str]]:
    """Which queries are together, however strands are numbered."""
    found: dict[int, set[str]] = defaultdict(set)
    for name, at in strands.items():
        found[at].add(name)
    return {frozenset(names) for names in found.values()}


def _sets(changes: Mapping[str, Keys], hidden: Hidden) -> list[dict[str, Keys]]:
    """All changes, and those of one kind by themselves, the most frequent kinds."""
    kinds: dict[tuple[Keys, Keys], dict[str, Keys]] = defaultdict(dict)
    for name, keys in changes.items():
        kinds[_kind(hidden.get(name, ())), _kind(keys)][name] = keys
    alone = sorted(kinds.values(), key=len, reverse=True)[:MOST] if len(kinds) > 1 else []
    return [dict(changes), *alone]


def _offer(program: Program, now: StreamPlan, hidden: Hidden, changes: Hidden, basis: Basis) -> Offer:
    """What these changes are worth, by the cost of three plans: as it is, while both are fed, and then."""
    other = {**hidden, **changes}
    turns = {name: Turn(BEGINNING, hidden.get(name, ())) for name in changes}
    (then,), (both,) = build(program, other, basis).streams, build(program, other, basis, turns=turns).streams

    def priced(plan: StreamPlan) -> tuple[float, float]:
        cost = cost_of(plan, basis)
        return cost.total, cost.levels[Level.FIXED]

    ranges = [tap.window.range for tap in both.taps if tap.query.name in changes]
    total, fixed = priced(now)
    return Offer(
        changes,
        _show(changes, hidden),
        total,
        priced(then)[0],
        priced(both)[0],
        fixed,
        (max(ranges) + now.stream.statement.delay) / SECOND,
    )


# -- what is known


def _known(load: Load, plan: StreamPlan, taken: Sequence[Taken], hidden: Hidden) -> Load:
    """What was counted of keys that there are now and of columns asked for; else what predicates tell."""
    counting = {key.sql for feed in plan.feeds for key in feed.keys} | set(plan.asked)
    asked = [each for each in taken if each.may_pick and not hidden.get(each.query.name)]
    counted = {column: count for column, count in load.distinct.items() if column in counting}
    return replace(load, distinct=dict(_values_asked(asked, load)) | counted)


def _values_asked(taken: Iterable[Taken], load: Load) -> Iterable[tuple[str, float]]:
    """How many values columns have, by how many rows have those that are asked for."""
    found: dict[str, dict[Equals, float]] = defaultdict(dict)
    for each in taken:
        where = each.safe.where
        if where is not None and len(conjuncts(where)) == 1:
            for one in each.conditions:
                if isinstance(one, Equals) and load.passing.get(where.sql):
                    found[one.column.sql][one] = load.passing[where.sql]
    for column, parts in found.items():
        yield column, sum(len(one.values) for one in parts) / min(1.0, sum(parts.values()))


def _certain(keys: Keys, load: Load) -> Keys:
    """Without a signature of conditions that nobody counted: rows are asked for them."""
    return tuple(key for key in keys if not is_signature(key) or _is_counted(key, load))


def _is_counted(key: str, load: Load) -> bool:
    """Is it known how many groups the key makes?"""
    if is_interval(key) or key in load.distinct:
        return True
    return is_signature(key) and all(bit in load.passing for bit in read_signature(key).bits)


# -- in words


def _kind(keys: Keys) -> Keys:
    """What a treatment is, whichever cuts or bits it has: others of them are no reason for a switch."""
    return tuple(map(_key_kind, without_strand(keys)))


@lru_cache(maxsize=256)
def _key_kind(key: str) -> str:
    """`sym`, `interval of price`, `signature`."""
    return show_key(parse_expression(key)).partition(" (")[0]


def _show(changes: Hidden, hidden: Hidden) -> str:
    """`key sym to rows asked`."""
    shown = {(_shown(hidden.get(name, ())), _shown(keys)) for name, keys in changes.items()}
    return ", ".join(f"{before} to {after}" for before, after in sorted(shown))


def _shown(keys: Keys) -> str:
    names = [key if key.startswith(("interval", "signature")) else f"key {key}" for key in _kind(keys)]
    strand = f" in strand {strand_of(keys)}" if strand_of(keys) else ""
    return (" and ".join(names) or "rows asked") + strand
