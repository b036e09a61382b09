"""What a running program has counted and used: the other side of a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from weft.share.model.cost import Level
from weft.share.model.load import GROUPS, Load, Loads


@dataclass(frozen=True, slots=True)
class StreamMeasured:
    """What a stream brought."""

    seconds: float  # of its own time
    rows: int
    batches: int
    steps: int
    groups: Mapping[tuple[str, ...], int] = field(default_factory=dict)  # of feeds, by their keys
    passing: Mapping[str, float] = field(default_factory=dict)  # by predicate: which part of the rows
    distinct: Mapping[str, float] = field(default_factory=dict)  # values of keys, by their text
    joined: Mapping[str, float] = field(default_factory=dict)  # values of keys of joins, by their text

    def load(self) -> Load | None:
        """As what a prediction rests on; None if too little has come."""
        if self.seconds <= 0 or not self.rows:
            return None
        keyed = [count for keys, count in self.groups.items() if keys]
        return Load(
            rows=self.rows / self.seconds,
            groups=max(1.0, float(max(keyed, default=GROUPS))),  # none may have been seen yet
            batch=self.seconds / max(1, self.batches),
            step=self.seconds / max(1, self.steps),
            counted={tuple(sorted(keys)): max(1.0, float(count)) for keys, count in self.groups.items()},
            passing=self.passing,
            distinct=self.distinct,
            joined=self.joined,
            rows_by="measured",
            groups_by="measured" if keyed else "assumed",
        )


@dataclass(frozen=True, slots=True)
class Happened:
    """Queries were switched to another treatment while they ran."""

    at: str  # wall time, ISO 8601
    why: str
    queries: tuple[str, ...]
    settled: bool  # no window from before is left to be answered


@dataclass(frozen=True, slots=True)
class Apart:
    """How the program that runs is another one than the one that is looked at; queries by their names."""

    more: tuple[str, ...] = ()  # that it has besides
    lacks: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()  # with another text, or over another view or table

    def __bool__(self) -> bool:
        return bool(self.more or self.lacks or self.otherwise)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run used during its last minute, or since it was started if that is less."""

    wall: float  # seconds
    cpu: float  # seconds, of the process and all that it has started
    levels: Mapping[Level, float]  # of them those that answering took
    queries: Mapping[str, float]  # and of these what each query took
    answers: Mapping[str, int]  # rows by query
    streams: Mapping[str, StreamMeasured]
    switches: tuple[Happened, ...] = ()  # the last ones, however long ago

    @property
    def stream_seconds(self) -> float:
        """How much time of the streams has passed."""
        return max((stream.seconds for stream in self.streams.values()), default=0.0)

    def loads(self) -> Loads:
        """What the streams bring, those that have brought enough."""
        found = {name: stream.load() for name, stream in self.streams.items()}
        return Loads({name: load for name, load in found.items() if load is not None})

    def to_json(self) -> dict[str, Any]:
        return {
            "wall": self.wall,
            "cpu": self.cpu,
            "levels": {str(level): seconds for level, seconds in self.levels.items()},
            "queries": dict(self.queries),
            "answers": dict(self.answers),
            "streams": {name: _stream_json(stream) for name, stream in self.streams.items()},
            "switches": [asdict(one) for one in self.switches],
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Measured:
        levels = {Level(name): seconds for name, seconds in found["levels"].items()}
        streams = {name: _stream_from(stream) for name, stream in found["streams"].items()}
        switches = tuple(map(_happened, found.get("switches", ())))
        return Measured(**(dict(found) | {"levels": levels, "streams": streams, "switches": switches}))


def _happened(found: Mapping[str, Any]) -> Happened:
    return Happened(**(dict(found) | {"queries": tuple(found["queries"])}))


def _stream_json(stream: StreamMeasured) -> dict[str, Any]:
    return {
        "seconds": stream.seconds,
        "rows": stream.rows,
        "batches": stream.batches,
        "steps": stream.steps,
        "groups": [[list(keys), count] for keys, count in stream.groups.items()],
        "passing": dict(stream.passing),
        "distinct": dict(stream.distinct),
        "joined": dict(stream.joined),
    }


def _stream_from(found: Mapping[str, Any]) -> StreamMeasured:
    groups = {tuple(keys): count for keys, count in found["groups"]}
    return StreamMeasured(**(dict(found) | {"groups": groups}))
