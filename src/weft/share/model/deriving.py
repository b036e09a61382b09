"""Whether a feed is combined from a finer one that exists anyway, or aggregated from rows once more.

from cells    the finer feed holds what only the coarser one reads: so many more partials for every cell
from rows     each row is brought to its group in one more feed, and that has cells of its own

And whether one feed is made for two that are: rows are brought to one group instead of two, and added to what
both read once; but there may be many more cells, and every feed that is combined from them folds them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from weft.share.lattice import Draft, Root, missing
from weft.share.model.constants import kind_of
from weft.share.model.treatment import Facts

THIN = 0.25  # cells for each row: a feed with more of them is not made for others


def pays(coarse: Draft, fine: Draft, facts: Facts) -> bool:
    """Is the coarser one to be combined from the other? Always, where nothing is known of the stream."""
    if coarse.extra or fine.extra or not facts.load.is_known:
        return True
    return _from_cells(coarse, fine, facts) <= facts.margin * _from_rows(coarse, facts)


def saves(one: Root, other: Root, both: Root, facts: Facts) -> float:
    """How much it saves to make a feed for two others; 0 where that is unknown, or not clearly something."""
    groups = _groups(both, (one, other), facts)
    if not facts.load.is_known or groups is None or facts.cells(groups) > THIN * facts.load.rows:
        return 0.0
    apart = sum(_seconds(root, facts.groups(_keys(root.draft)), facts) for root in (one, other))
    together = _seconds(both, groups, facts)
    return apart - together if together * facts.margin <= apart else 0.0


def _groups(both: Root, roots: Iterable[Root], facts: Facts) -> float | None:
    """How many a feed for others has; None: of one of its keys nobody knows how many values it has.

    Each group of one of the others is met with all values of the keys that it has not.
    """
    values = {key: facts.load.values_of(key) for key in _keys(both.draft)}
    known = {key: count for key, count in values.items() if count is not None}
    if len(known) < len(values):
        return None
    most = facts.groups(tuple(known))
    for keys in (_keys(root.draft) for root in roots):
        most = max(most, facts.groups(keys) * prod(known[key] for key in known.keys() - set(keys)))
    return most


def _seconds(root: Root, groups: float, facts: Facts) -> float:
    """What a feed from rows takes, of so many groups, and to fold its cells into all that is read of it."""
    c, kinds = facts.constants, [kind_of(partial) for partial in root.draft.partials]
    row = c.key + sum(c.partial[kind] for kind in kinds)
    cell = c.made + len(kinds) * c.made_part
    for member in root.members.values():
        cell += c.cell + sum(c.fold[kind_of(partial)] for partial in member.partials)
    return facts.load.rows * facts.by_row * row + facts.cells(groups) * cell


def _from_cells(coarse: Draft, fine: Draft, facts: Facts) -> float:
    c = facts.constants
    each = sum(c.made_part + c.fold[kind_of(partial)] for partial in missing(coarse, fine))
    return facts.cells(facts.groups(_keys(fine))) * each


def _from_rows(coarse: Draft, facts: Facts) -> float:
    c = facts.constants
    made = facts.cells(facts.groups(_keys(coarse))) * (c.made + len(coarse.partials) * c.made_part)
    return facts.load.rows * facts.by_row * c.key + made


def _keys(draft: Draft) -> tuple[str, ...]:
    return tuple(key.sql for key in draft.keys)
