"""The windows of the literature's examples, in seconds."""

from __future__ import annotations

from collections.abc import Sequence

from weft.lang.statements import WindowSpec
from weft.share.slicing import overlap
from weft.share.weave.classes import EdgeClass, edge_classes
from weft.times import SECOND


def window(range_: int, slide: int) -> WindowSpec:
    return WindowSpec(range_ * SECOND, slide * SECOND)


def classes_of(windows: Sequence[WindowSpec]) -> list[EdgeClass]:
    """Classes whose windows read each of their slices: `recompute`, as the literature counts."""
    return edge_classes(windows, [float(overlap(one)) for one in windows])


EXAMPLE_3 = [window(12, 9), window(10, 6)]
TABLE_3 = [window(16, 4), window(10, 5), window(8, 4)]
EXAMPLE_9 = [window(8, 5), window(5, 4), window(10, 1), window(5, 4)]
GOLDEN = [
    window(12, 4),
    window(15, 6),
    window(20, 10),
    window(25, 10),
    window(30, 12),
    window(18, 6),
    window(45, 15),
    window(60, 20),
]
NOT_OPTIMAL = [window(25, 6), window(2, 5), window(24, 12), window(17, 11)]
