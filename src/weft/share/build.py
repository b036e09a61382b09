"""All queries of a program -> one shared plan per stream.

First version of sharing: every distinct partial is computed once; queries with the same group-by set read one
feed; a feed whose keys are a subset of another's is combined from it; all windows of a stream are cut at the
union of their edges. What was decided is in the plan as values, for `explain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from sqlglot import exp

from weft.errors import Bug
from weft.lang.statements import Expr, WindowSpec
from weft.plan.coercion import decimal_parts, is_decimal
from weft.plan.nodes import Aggregation, Program, Project, Query, Stream
from weft.share.guards import Guarded, guarded
from weft.share.lattice import Draft, arrange
from weft.share.nodes import (
    Final,
    Guard,
    Op,
    Partial,
    Saving,
    SharedPlan,
    Standing,
    StreamPlan,
    Tap,
)
from weft.share.partials import Recipe, recipe
from weft.share.parts import Parts, conjunction, disjunction, parts
from weft.share.predicates import Apart, Hidden, decide, take_apart
from weft.share.slicing import cut, overlap

_RANKED = ("string", "binary", "varchar", "char")
_LONGEST_CODED = 18  # digits of a decimal that fit a 64-bit code


@dataclass(frozen=True, slots=True)
class _Member:
    """An aggregate query on its way into the plan, or one of its grouping sets, with the keys of that."""

    query: Query
    window: WindowSpec
    guarded: Guarded
    recipes: tuple[Recipe, ...]
    key_types: tuple[str | None, ...]
    apart: Apart  # its predicate
    seen: tuple[Expr | None, ...]  # all group keys of the query; None: the set leaves it out

    @property
    def present(self) -> Partial:
        return Partial(Op.COUNT, where=self.apart.rest)

    @property
    def inner(self) -> frozenset[Expr]:
        """The keys by which it picks several groups that are one for it."""
        several = {picked.key for picked in self.apart.picked if picked.several}
        return frozenset(several - set(self.guarded.keys))


def build(program: Program, hidden: Hidden | None = None) -> SharedPlan:
    """The shared plan of `program`; a stream that no query reads is left out.

    `hidden` tells by which keys queries pick groups; what it does not tell of a query is decided here.
    """
    plans = [_stream_plan(stream, program.queries, hidden or {}) for stream in program.streams]
    return _with_saving(tuple(plan for plan in plans if plan.taps or plan.standing))


def picks_by(plan: SharedPlan) -> dict[str, tuple[str, ...]]:
    """By which keys each query of a plan picks its groups."""
    return {
        tap.query.name: tuple(stream.feeds[tap.feed].keys[pick.place].sql for pick in tap.picks)
        for stream in plan.streams
        for tap in stream.taps
    }


_Taken = dict[str, tuple[Query, Parts, Guarded]]  # queries taken apart, by name


def _of_stream(stream: Stream, queries: Iterable[Query]) -> _Taken:
    taken = [(query, parts(query)) for query in queries]
    types = _types(stream)
    return {
        query.name: (query, each, guarded(query.name, each, types))
        for query, each in taken
        if each.stream == stream.name
    }


def _hidden(stream: Stream, queries: _Taken, fixed: Hidden) -> dict[str, tuple[str, ...]]:
    wheres = {
        name: safe.where
        for name, (query, taken_apart, safe) in queries.items()
        if taken_apart.aggregate is not None and _may_pick(query, safe)
    }
    return dict.fromkeys(queries, ()) | decide(wheres, _types(stream), fixed)


def _may_pick(query: Query, safe: Guarded) -> bool:
    """Windows without rows have no group to pick, and sets of values are kept by group."""
    return not query.emit_empty and all(recipe(call, None).extra is None for call in safe.calls)


def _types(stream: Stream) -> dict[str, str | None]:
    return {column.name: column.type for column in stream.columns}


def _stream_plan(stream: Stream, queries: Iterable[Query], fixed: Hidden) -> StreamPlan:
    types = _types(stream)
    members: list[_Member] = []
    standing, guards = [], []
    mine = _of_stream(stream, queries)
    hidden = _hidden(stream, mine, fixed)
    for query, taken_apart, safe in mine.values():
        guards += [safe.guard] if safe.guard else []
        if taken_apart.aggregate is None:
            standing.append(Standing(_safe_items(query, safe), safe.where))
        else:
            apart = take_apart(safe.where, hidden[query.name], types)
            members += _members(query, taken_apart, safe, apart)
    return _weave(stream, members, standing, guards)


def _members(query: Query, taken_apart: Parts, safe: Guarded, apart: Apart) -> Iterator[_Member]:
    """A member for each grouping set of the query, or one if it has none."""
    aggregate = taken_apart.aggregate
    if taken_apart.window is None or aggregate is None:
        raise Bug("plan-shape", f"`{query.name}` aggregates without a window")
    recipes = tuple(recipe(call, _both(apart.rest, call.filter)) for call in safe.calls)
    for each in aggregate.sets or (tuple(range(len(safe.keys))),):
        keys = tuple(safe.keys[at] for at in each)
        types = tuple(aggregate.keys[at].type for at in each)
        seen = tuple(key if at in each else None for at, key in enumerate(safe.keys))
        of_set = replace(safe, keys=keys)
        yield _Member(query, taken_apart.window, of_set, recipes, types, apart, seen)


def _both(where: Expr | None, filter_: Expr | None) -> Expr | None:
    return conjunction([part for part in (where, filter_) if part is not None])


def _safe_items(query: Query, safe: Guarded) -> Query:
    """The standing query with items that cannot fail."""
    assert isinstance(query.plan, Project)
    items = tuple(replace(item, expr=made) for item, made in zip(query.plan.items, safe.keys, strict=True))
    return replace(query, plan=replace(query.plan, items=items))


def _weave(
    stream: Stream, members: list[_Member], standing: list[Standing], guards: list[Guard]
) -> StreamPlan:
    drafts = _Drafts()
    for member in members:
        drafts.own(member).add(member.present)
        for made, call in zip(member.recipes, member.guarded.calls, strict=True):
            drafts.of(member, made, call).add(*made.partials)
    feeds = arrange(list(drafts.all.values()))
    place = {(feed.keys, feed.inner, feed.extra): at for at, feed in enumerate(feeds)}

    def tap(member: _Member) -> Tap:
        mine = drafts.own(member)
        at = place[(mine.keys, mine.inner, False)]
        finals = []
        for made, call in zip(member.recipes, member.guarded.calls, strict=True):
            draft = drafts.of(member, made, call)
            feed = place[(draft.keys, draft.inner, draft.extra)]
            found = tuple(feeds[feed].partials.index(partial) for partial in made.partials)
            finals.append(Final(call.name, call.function, feed, found, method(made), call.type, call.params))
        present = feeds[at].partials.index(member.present)
        keys = tuple(None if key is None else mine.keys.index(key) for key in member.seen)
        picks = tuple(each.pick(mine.keys.index(each.key)) for each in member.apart.picked)
        return Tap(member.query, member.window, at, present, keys, tuple(finals), picks)

    wheres = [member.apart.rest for member in members]
    wanted = None if None in wheres else disjunction([where for where in wheres if where])
    return StreamPlan(
        stream=stream,
        edges=cut([member.window for member in members]),
        feeds=feeds,
        taps=_by_query(tap(member) for member in members),
        standing=tuple(standing),
        guards=tuple(guards),
        wanted=wanted,
        columns=_columns(stream, members, standing, guards),
        longest=max((member.window.range for member in members), default=0),
    )


def _by_query(taps: Iterable[Tap]) -> tuple[Tap, ...]:
    """One tap for each query, with those of its other grouping sets."""
    grouped = (tuple(each) for _, each in groupby(taps, key=lambda tap: tap.query.name))
    return tuple(replace(first, others=tuple(others)) for first, *others in grouped)


class _Drafts:
    """The feeds of a stream while they are being collected, by their keys."""

    def __init__(self) -> None:
        self.all: dict[tuple[tuple[Expr, ...], int, bool], Draft] = {}

    def own(self, member: _Member) -> Draft:
        """The feed by the keys of a query and those it picks by."""
        typed = dict(zip(member.guarded.keys, member.key_types, strict=True))
        for picked in member.apart.picked:
            typed.setdefault(picked.key, picked.type)
        return self._draft(typed, member.inner)

    def of(self, member: _Member, made: Recipe, call: Aggregation) -> Draft:
        """The feed that one aggregate of a query comes from."""
        if made.extra is None:
            return self.own(member)
        typed = dict(zip(member.guarded.keys, member.key_types, strict=True))
        extra_type = call.arg_types[0] if call.function == "count_distinct" else None
        return self._draft(typed, frozenset(), (made.extra, extra_type))

    def _draft(
        self,
        typed: Mapping[Expr, str | None],
        inner: frozenset[Expr],
        extra: tuple[Expr, str | None] | None = None,
    ) -> Draft:
        """The feed by these keys, in the one order that serves GROUP BY a, b and GROUP BY b, a alike."""
        ordered = tuple(sorted(typed, key=lambda key: (key in inner, key.sql)))
        types = tuple(typed[key] for key in ordered)
        if extra is not None:
            ordered, types = (*ordered, extra[0]), (*types, extra[1])
        found = (ordered, len(inner), extra is not None)
        return self.all.setdefault(found, Draft(ordered, types, extra is not None, len(inner)))


def method(made: Recipe) -> str:
    """How windows come out of slices: by difference where that is exact, else by combining."""
    if made.extra is not None:
        return "distinct"
    partial = made.partials[0]
    if partial.op in (Op.COUNT, Op.SUM_INT, Op.SUM_LONG, Op.SUM_DECIMAL, Op.SUM_WIDE):
        return "prefix"
    return "ranked" if is_ranked(partial.type) or is_ranked(partial.by_type) else "dyadic"


def is_ranked(type_: str | None) -> bool:
    """Whether values of the type are too long for a code of their own, so that they are ranked."""
    if type_ is not None and is_decimal(type_):
        return decimal_parts(type_)[0] > _LONGEST_CODED
    return type_ is not None and type_.startswith(_RANKED)


def _columns(
    stream: Stream, members: list[_Member], standing: list[Standing], guards: list[Guard]
) -> tuple[str, ...]:
    """What must be read of the source: event time, and every column some expression speaks of."""
    used = {stream.statement.time_column}
    trees: list[Expr | None] = [guard.fails for guard in guards]
    for member in members:
        trees += [member.guarded.where, *member.guarded.keys]
        for made in member.recipes:
            trees += [made.extra, *(part for p in made.partials for part in (p.arg, p.by, p.where))]
    for filter_ in standing:
        trees += [filter_.where, *(item.expr for item in parts(filter_.query).items)]
    for tree in trees:
        if tree is not None:
            used |= {column.name for column in tree.tree.find_all(exp.Column)}
    return tuple(column.name for column in stream.columns if column.name in used)


def _with_saving(plans: tuple[StreamPlan, ...]) -> SharedPlan:
    taps = [tap for plan in plans for query in plan.taps for tap in query.sets]
    saving = Saving(
        queries=sum(len(plan.taps) + len(plan.standing) for plan in plans),
        partials_apart=sum(1 + sum(len(final.partials) for final in tap.finals) for tap in taps),
        partials_shared=sum(len(plan.feeds[root].partials) for plan in plans for root in plan.roots),
        row_updates_apart=float(sum(overlap(tap.window) for tap in taps)),
        row_updates_shared=float(sum(len(plan.roots) for plan in plans)),
    )
    return SharedPlan(plans, saving)
