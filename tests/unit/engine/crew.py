"""Buckets in this process: errands done one after the other, what they hold is kept in a dictionary."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass, field
from typing import Any

from weft.engine.errands import Errand, Timed, Told, run
from weft.engine.packing import packed
from weft.engine.relations.bucket import Related, Relating, Spreading, relate
from weft.share.nodes import StreamPlan


@dataclass
class Memory:
    """A cache that forgets a share of what it is given, as a cluster does that loses executors."""

    forgets: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    kept: dict[tuple[str, str, int], tuple[list[Any], bytes, list[bytearray]]] = field(default_factory=dict)

    def take(self, errand: Timed, bucket: int) -> Any:
        at, body, arrays = self.kept.pop((errand.run, errand.stream, bucket), ([], b"", []))
        return pickle.loads(body, buffers=arrays) if at == errand.begins else None

    def put(self, errand: Timed, bucket: int, state: object) -> None:
        if self.rng.random() >= self.forgets:
            arrays: list[pickle.PickleBuffer] = []
            body = packed(state, arrays.append)
            self.kept[errand.run, errand.stream, bucket] = errand.ends, body, [bytearray(a) for a in arrays]


class LocalCrew:
    def __init__(self, buckets: int, forgets: float = 0.3) -> None:
        self.buckets, self.cache = buckets, Memory(forgets)

    def run(self, errand: Errand, plan: StreamPlan) -> list[Told]:
        return [run(errand, plan, bucket, self.cache) for bucket in range(self.buckets)]

    def relate(self, errand: Relating, plan: Spreading) -> list[Related]:
        return [relate(errand, plan, bucket, self.cache) for bucket in range(self.buckets)]
