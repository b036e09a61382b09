"""What is to change later, by when: a calendar queue (Brown 1988; Golab 2006, 3.5.2).

.. [10:00:00 10:00:06) [10:00:06 10:00:12) [10:00:12 ..      only the pages that are due are looked at
       -a                  -b +d -c            -d
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.kernels.relations.tables import Changes
from weft.times import SECOND, Duration, Instant

PAGES = 16  # to a life of the usual length


class Calendar:
    """Changes that are told before they are due."""

    def __init__(self, schema: pa.Schema, usual: Duration | None) -> None:
        """`usual`: how long most rows live; None: for ever."""
        self._schema = schema
        self._width = max((usual or 16 * SECOND) // PAGES, 1)
        self._pages: dict[int, list[Changes]] = {}

    def __len__(self) -> int:
        return sum(len(part) for parts in self._pages.values() for part in parts)

    @property
    def nbytes(self) -> int:
        return sum(part.table.nbytes + 16 * len(part) for parts in self._pages.values() for part in parts)

    def put(self, changes: Changes) -> None:
        """Remember changes; those that never come need no remembering."""
        if not len(changes):
            return
        pages = changes.times // self._width
        first, last = int(pages.min()), int(pages.max())
        if first == last:
            self._pages.setdefault(first, []).append(changes)
            return
        order = np.argsort(pages, kind="stable")
        ordered, sorted_pages = changes.take(order), pages[order]
        starts = np.flatnonzero(np.concatenate(([True], sorted_pages[1:] != sorted_pages[:-1])))
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            part = Changes(
                ordered.table.slice(start, end - start), ordered.times[start:end], ordered.weights[start:end]
            )
            self._pages.setdefault(int(sorted_pages[start]), []).append(part)

    def all(self) -> Changes:
        """All that it remembers, in any order."""
        parts = [part for page in self._pages.values() for part in page]
        return Changes.concat(parts) if parts else Changes.empty(self._schema)

    def take(self, upto: Instant) -> Changes:
        """The changes before `upto`, in any order; they are due, and no longer remembered."""
        due: list[Changes] = []
        for page in [page for page in self._pages if page * self._width < upto]:
            parts = self._pages.pop(page)
            if (page + 1) * self._width <= upto:
                due += parts
                continue
            together = Changes.concat(parts)
            now = together.times < upto
            due.append(together.filter(now))
            if not now.all():
                self._pages[page] = [together.filter(~now)]
        return Changes.concat(due) if due else Changes.empty(self._schema)
