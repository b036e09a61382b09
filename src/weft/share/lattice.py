"""Group-by sets -> feeds: which are aggregated from rows, and which from a finer feed that exists anyway.

A feed whose keys are a subset of another's is combined from that one's partials: there are never more of them
than rows. But a finer feed that has about as many cells as there are rows should not have to hold what only
others read: where that is known to cost less, they are aggregated from rows. Feeds with an extra key may have
almost as many cells as rows, so only their like are derived from them. From those with a signature only those
with the same: they need not hold rows that others ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from weft.lang.statements import Expr
from weft.share.nodes import Feed, Partial, StreamPlan, Tap
from weft.share.signatures import is_signature


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


Pays = Callable[[Draft, Draft], bool]  # is the first to be combined from the second, and not from rows?


def arrange(drafts: Sequence[Draft], pays: Pays = lambda coarse, fine: True) -> tuple[Feed, ...]:
    """The feeds, in the order of the drafts; a root also holds the partials of the feeds derived from it."""
    parents = _parents(drafts, pays)
    partials = [dict(draft.partials) for draft in drafts]
    for at, parent in enumerate(parents):
        if parent is not None:
            partials[parent].update(partials[at])
    return tuple(
        Feed(draft.keys, tuple(held), draft.key_types, parent, draft.extra, draft.inner, draft.strand)
        for draft, held, parent in zip(drafts, partials, parents, strict=True)
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
