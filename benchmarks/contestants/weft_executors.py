"""weft with its cells on the executors: the same program, in as many buckets as cores."""

from __future__ import annotations

from benchmarks.contestants import weft


class Side(weft.Side):
    placement = "executors"
