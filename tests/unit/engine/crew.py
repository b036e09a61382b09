"""Buckets in this process: errands done one after the other, cells kept in a dictionary."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from weft.engine.errands import Errand, Feeds, Told, run
from weft.share.nodes import StreamPlan


@dataclass
class Memory:
    """A cache that forgets a share of what it is given, as a cluster does that loses executors."""

    forgets: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    kept: dict[tuple[str, str, int], tuple[list[int], Feeds]] = field(default_factory=dict)

    def take(self, errand: Errand, bucket: int) -> Feeds | None:
        at, feeds = self.kept.pop((errand.run, errand.stream, bucket), ([], {}))
        return feeds if at == errand.begins else None

    def put(self, errand: Errand, bucket: int, feeds: Feeds) -> None:
        if self.rng.random() >= self.forgets:
            self.kept[errand.run, errand.stream, bucket] = errand.ends, feeds


class LocalCrew:
    def __init__(self, buckets: int, forgets: float = 0.3) -> None:
        self.buckets, self.cache = buckets, Memory(forgets)

    def run(self, errand: Errand, plan: StreamPlan) -> list[Told]:
        return [run(errand, plan, bucket, self.cache) for bucket in range(self.buckets)]
