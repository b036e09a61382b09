"""Group-by sets -> feeds: which are aggregated from rows, and which from a finer feed.

A feed whose keys are a subset of another's is combined from that one's partials: there are never more of them
than rows. But a finer feed that has about as many cells as there are rows should not have to hold what only
others read: where that is known to cost less, they are aggregated from rows. Feeds with an extra key may have
almost as many cells as rows, so only their like are derived from them. From those with a signature only those
with the same: they need not hold rows that others ask for.

Most often the finer one exists anyway. One that no query asks for is made where that is known to cost less
than the feeds from rows that are combined from it then:

    rows ─┬─ a, c ─── a                    rows ─── a, b, c, d ─┬─ a, c
          ├─ b, c               becomes                         ├─ a
          └─ c, d                                               ├─ b, c
                                                                └─ c, d

It is the union of keys of two feeds, then of that and a third, as long as it saves something: the pair that
saves most first. So it may be that a better set of them is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count

from weft.lang.statements import Expr
from weft.share.nodes import Feed, Partial, StreamPlan, Tap
from weft.share.signatures import is_signature

MOST = 10  # feeds from rows of which pairs are looked at; of more the first
NARROW = 30  # partials: those of one that has more take so much of every row that its keys do not matter


@dataclass(slots=True)
class Draft:
    """A feed while its partials are being collected."""

    keys: tuple[Expr, ...]
    key_types: tuple[str | None, ...]
    extra: bool
    inner: int = 0
    strand: int = 0
    partials: dict[Partial, int] = field(default_factory=dict)  # each with its place

    def place(self, partial: Partial) -> int:
        """Where a partial stands among those of the feed; at the end if it is new."""
        return self.partials.setdefault(partial, len(self.partials))


@dataclass(frozen=True, slots=True)
class Root:
    """A feed from rows, as it would be: with all that is combined from it, itself too if a query reads it."""

    draft: Draft  # holds the partials of all
    members: Mapping[int, Draft]  # by their place
    common: bool = False


Pays = Callable[[Draft, Draft], bool]  # is the first to be combined from the second, and not from rows?
Saves = Callable[[Root, Root, Root], float]  # how much, if the third is made for the others; 0: it is not


def arrange(
    drafts: Sequence[Draft],
    pays: Pays = lambda coarse, fine: True,
    saves: Saves = lambda one, other, both: 0.0,
) -> tuple[Feed, ...]:
    """The feeds, in the order of the drafts, and then common ones.

    A root also holds the partials of the feeds derived from it.
    """
    parents = _parents(drafts, pays)
    common = _common(drafts, parents, saves)
    for place, root in enumerate(common, len(drafts)):
        for at in root.members:
            parents[at] = place
    parents += [None] * len(common)
    partials = [dict(draft.partials) for draft in drafts] + [dict[Partial, int]() for _ in common]
    for at, parent in enumerate(parents):
        if parent is not None:
            partials[parent].update(partials[at])
    every = [*((draft, False) for draft in drafts), *((root.draft, True) for root in common)]
    return tuple(
        Feed(
            draft.keys,
            tuple(held),
            draft.key_types,
            parent,
            draft.extra,
            draft.inner,
            draft.strand,
            common=is_common,
        )
        for (draft, is_common), held, parent in zip(every, partials, parents, strict=True)
    )


def own_feeds(plan: StreamPlan, tap: Tap) -> tuple[Feed, ...]:
    """The feeds that a query of a plan would have by itself: by the keys that it sees, with what it reads."""
    drafts: dict[tuple[frozenset[Expr], bool], Draft] = {}
    for each in tap.sets:
        keys = plan.feeds[each.feed].keys
        seen = tuple(keys[place] for place in dict.fromkeys(each.grouped_by))
        for at, place in each.places:
            extra = at != each.feed
            by = plan.feeds[at].keys if extra else seen
            mine = drafts.setdefault((frozenset(by), extra), Draft(by, (None,) * len(by), extra))
            mine.place(plan.feeds[at].partials[place])
    return arrange(list(drafts.values()))


def _parents(drafts: Sequence[Draft], pays: Pays) -> list[int | None]:
    """The root to combine each from: the one that has to hold the fewest more partials for it."""
    parents: list[int | None] = [None] * len(drafts)
    roots: list[int] = []
    for at, draft in sorted(enumerate(drafts), key=lambda each: _finest_first(each[1])):
        finer = [root for root in roots if _serves(drafts[root], draft)]
        best = min(finer, key=lambda root: (len(missing(draft, drafts[root])), root), default=None)
        if best is not None and pays(draft, drafts[best]):
            parents[at] = best
        else:
            roots.append(at)
    return parents


def _finest_first(draft: Draft) -> tuple[int, ...]:
    return -len(draft.keys), draft.extra, draft.inner, draft.strand


def missing(coarse: Draft, fine: Draft) -> list[Partial]:
    """What the finer one would have to hold for the other."""
    return [partial for partial in coarse.partials if partial not in fine.partials]


def _serves(finer: Draft, coarser: Draft) -> bool:
    """Can `coarser` be combined from `finer`, at little cost?"""
    if finer.extra and not coarser.extra:
        return False
    if any(is_signature(key.sql) and key not in coarser.keys for key in finer.keys):
        return False
    if set(coarser.keys) == set(finer.keys):
        return _finest_first(finer) < _finest_first(coarser)
    return set(coarser.keys) < set(finer.keys)


def _common(drafts: Sequence[Draft], parents: Sequence[int | None], saves: Saves) -> list[Root]:
    """The roots that are to be made though no query reads them."""
    if len(drafts) < 2:
        return []
    asked = {frozenset(draft.keys) for draft in drafts}
    roots = dict(enumerate(_roots(drafts, parents)))

    def offer(one: Root, other: Root) -> tuple[float, Root] | None:
        both = _joined(one, other) if _may_join(one, other, asked) else None
        saved = 0.0 if both is None else saves(one, other, both)
        return (saved, both) if both is not None and saved > 0 else None

    found = {(at, to): offer(roots[at], roots[to]) for at, to in combinations(roots, 2)}
    offers = {pair: each for pair, each in found.items() if each is not None}
    for new in count(len(roots)):
        if not offers:
            break
        best = max(offers, key=lambda pair: offers[pair][0])
        joined = offers[best][1]
        offers = {pair: each for pair, each in offers.items() if not set(pair) & set(best)}
        roots = {at: root for at, root in roots.items() if at not in best}
        more = {(at, new): offer(root, joined) for at, root in roots.items()}
        offers |= {pair: each for pair, each in more.items() if each is not None}
        roots[new] = joined
    return [root for root in roots.values() if root.common]


def _roots(drafts: Sequence[Draft], parents: Sequence[int | None]) -> Iterator[Root]:
    """The feeds from rows that another could be made for, no more than a few."""
    able = [at for at, parent in enumerate(parents) if parent is None and not drafts[at].extra]
    for at in able[:MOST]:
        members = {each: drafts[each] for each, parent in enumerate(parents) if at in (each, parent)}
        partials = dict.fromkeys(partial for member in members.values() for partial in member.partials)
        if len(partials) <= NARROW:
            yield Root(
                replace(drafts[at], partials={each: place for place, each in enumerate(partials)}), members
            )


def _may_join(one: Root, other: Root, asked: Container[frozenset[Expr]]) -> bool:
    """May one feed be made for both? Not by keys that a query asks for: that feed was judged already."""
    first, second = one.draft, other.draft
    return (
        first.strand == second.strand
        and _signatures(first) == _signatures(second)
        and frozenset((*first.keys, *second.keys)) not in asked
    )


def _signatures(draft: Draft) -> set[Expr]:
    return {key for key in draft.keys if is_signature(key.sql)}


def _joined(one: Root, other: Root) -> Root:
    """The feed by the keys of both, with the partials of both."""
    typed: dict[Expr, str | None] = {}
    for draft in (one.draft, other.draft):
        typed |= zip(draft.keys, draft.key_types, strict=True)
    keys = tuple(sorted(typed, key=lambda key: key.sql))
    partials = dict.fromkeys((*one.draft.partials, *other.draft.partials))
    places = {partial: at for at, partial in enumerate(partials)}
    types = tuple(typed[key] for key in keys)
    draft = Draft(keys, types, extra=False, strand=one.draft.strand, partials=places)
    return Root(draft, {**one.members, **other.members}, common=True)
