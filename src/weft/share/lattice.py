"""Group-by sets -> feeds: which are aggregated from rows, and which from a finer feed that exists anyway.

A feed whose keys are a subset of another's is combined from that one's partials: there are never more of them
than rows. Feeds with an extra key may have almost as many cells as rows, so only their like are derived from
them. From those with a signature only those with the same: they need not hold rows that others ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.lang.statements import Expr
from weft.share.nodes import Feed, Partial
from weft.share.signatures import is_signature


@dataclass(slots=True)
class Draft:
    """A feed while its partials are being collected."""

    keys: tuple[Expr, ...]
    key_types: tuple[str | None, ...]
    extra: bool
    inner: int = 0
    partials: dict[Partial, int] = field(default_factory=dict)  # each with its place

    def place(self, partial: Partial) -> int:
        """Where a partial stands among those of the feed; at the end if it is new."""
        return self.partials.setdefault(partial, len(self.partials))


def arrange(drafts: list[Draft]) -> tuple[Feed, ...]:
    """The feeds, in the order of the drafts; a root also holds the partials of the feeds derived from it."""
    parents = [_parent(draft, drafts) for draft in drafts]
    partials = [dict(draft.partials) for draft in drafts]
    for at, parent in enumerate(parents):
        if parent is not None:
            partials[parent].update(partials[at])
    return tuple(
        Feed(draft.keys, tuple(held), draft.key_types, parent, draft.extra, draft.inner)
        for draft, held, parent in zip(drafts, partials, parents, strict=True)
    )


def _parent(draft: Draft, drafts: list[Draft]) -> int | None:
    """The root to combine `draft` from: the one that has to hold the fewest more partials for it."""
    if _is_root(draft, drafts):
        return None
    finer = [at for at, other in enumerate(drafts) if _serves(other, draft) and _is_root(other, drafts)]
    return min(finer, key=lambda at: (len(draft.partials.keys() - drafts[at].partials.keys()), at))


def _is_root(draft: Draft, drafts: list[Draft]) -> bool:
    return not any(_serves(other, draft) for other in drafts)


def _serves(finer: Draft, coarser: Draft) -> bool:
    """Can `coarser` be combined from `finer`, at little cost?"""
    if finer.extra and not coarser.extra:
        return False
    if any(is_signature(key.sql) and key not in coarser.keys for key in finer.keys):
        return False
    if finer.extra == coarser.extra and finer.inner >= coarser.inner:
        return set(coarser.keys) < set(finer.keys)
    return set(coarser.keys) <= set(finer.keys)
