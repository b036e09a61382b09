"""Whether a feed is combined from a finer one that exists anyway, or aggregated from rows once more.

from cells    the finer feed holds what only the coarser one reads: so many more partials for every cell
from rows     each row is brought to its group in one more feed, and that has cells of its own
"""

from __future__ import annotations

from weft.share.lattice import Draft, missing
from weft.share.model.constants import kind_of
from weft.share.model.treatment import Facts


def pays(coarse: Draft, fine: Draft, facts: Facts) -> bool:
    """Is the coarser one to be combined from the other? Always, where nothing is known of the stream."""
    if coarse.extra or fine.extra or not facts.load.is_known:
        return True
    return _from_cells(coarse, fine, facts) <= facts.margin * _from_rows(coarse, facts)


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
