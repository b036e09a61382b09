"""What all cells that cover a place make together, where each covers places [lo, hi) of a line.

    places    0 1 2 3 4 5 6 7
    cell        [1 . . . . 6)      = the nodes 1, 2-3, 4-5: at most two of each size
                                     each node is told to the two halves of it, from the largest down

So a cell is put down in few nodes however much it covers, nothing is ever taken away again, and it does for
all kinds. Sums of whole numbers are differences that are added up, which is less work.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.combine import SUM, Arrays, Ints, Kind, combine_runs


def spread(kind: Kind, cells: Arrays, lo: Ints, hi: Ints, count: int) -> Arrays:
    """For each of `count` places the cells that cover it, combined."""
    return (_sums(cells[0], lo, hi, count),) if kind is SUM else _tree(kind, cells, lo, hi, count)


def _sums(cells: Ints, lo: Ints, hi: Ints, count: int) -> Ints:
    """Sums may overflow on the way; those that fit are right."""
    moved = np.zeros(count + 1, np.int64)
    np.add.at(moved, lo, cells)
    np.subtract.at(moved, hi, cells)
    return np.cumsum(moved[:-1])


def _tree(kind: Kind, cells: Arrays, lo: Ints, hi: Ints, count: int) -> Arrays:
    levels: list[Arrays] = []
    which = np.arange(len(lo))
    while len(which) or not levels:
        left, right = np.flatnonzero(lo & 1), np.flatnonzero(hi & 1)
        nodes = np.concatenate((lo[left], hi[right] - 1))
        rows = np.concatenate((which[left], which[right]))
        levels.append(_put(kind, kind.empty((count,)), nodes, tuple(array[rows] for array in cells)))
        lo, hi, count = (lo + 1) >> 1, hi >> 1, (count + 1) >> 1
        wide = np.flatnonzero(lo < hi)
        lo, hi, which = lo[wide], hi[wide], which[wide]
    found = levels.pop()
    while levels:
        below = levels.pop()
        halves = np.arange(len(below[0])) >> 1
        with np.errstate(invalid="ignore", over="ignore"):
            found = kind.combine(below, tuple(array[halves] for array in found))
    return found


def _put(kind: Kind, nodes_of: Arrays, nodes: Ints, cells: Arrays) -> Arrays:
    """Nodes with the cells that are put down in them."""
    if not len(nodes):
        return nodes_of
    order = np.argsort(nodes, kind="stable")
    nodes = nodes[order]
    starts = np.flatnonzero(np.diff(nodes, prepend=-1))
    for array, made in zip(nodes_of, combine_runs(kind, tuple(cell[order] for cell in cells), starts)):
        array[nodes[starts]] = made
    return nodes_of
