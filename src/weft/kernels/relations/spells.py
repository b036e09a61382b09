"""From changes to the spells in which rows are there.

    changes of one row    +1 at 2    +1 at 3    -1 at 5    -1 at 9
    spells                [2,3)      [3,5) twice           [5,9)

Which of two equal rows has gone cannot be told, and need not be.
"""

from __future__ import annotations

import numpy as np

from weft.errors import Bug
from weft.kernels.combine import Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.tables import NOTHING, Changes, columns_of
from weft.times import Instant


def spells(changes: Changes, last: Instant) -> tuple[Ints, Ints, Ints]:
    """Rows by their places among the changes, and the times [begin, end) at which each is there.

    There was nothing before; what has not gone by `last` is said to end then. A row that is there twice is
    given twice.
    """
    if not len(changes):
        return NOTHING, NOTHING, NOTHING
    ids = GroupIndex(changes.table.num_columns).add(columns_of(changes.table), len(changes))
    order = np.lexsort((changes.times, ids))
    ids, times = ids[order], changes.times[order]
    new = np.concatenate(([True], (ids[1:] != ids[:-1]) | (times[1:] != times[:-1])))
    starts = np.flatnonzero(new)
    sums = np.cumsum(np.add.reduceat(changes.weights[order], starts))
    ids, times = ids[starts], times[starts]
    first = np.flatnonzero(np.diff(ids, prepend=-1))
    counts = sums - np.repeat(np.append(0, sums[first[1:] - 1]), np.diff(first, append=len(ids)))
    if counts.min() < 0:
        raise Bug("ended-before-it-began", "of some row more have ended than began")
    ends = np.append(times[1:], last)
    ends[first[1:] - 1] = last
    return np.repeat(order[starts], counts), np.repeat(times, counts), np.repeat(ends, counts)
