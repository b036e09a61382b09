"""What a running program reports of itself: plain values, for the board, the command line and the page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.times import Instant

STATUS_FILE = "status.json"  # in the home


@dataclass(frozen=True, slots=True)
class StreamStatus:
    name: str
    batches: int
    rows: int
    rows_per_second: float  # over the last batches
    max_time: Instant | None  # greatest event time seen
    watermark: Instant | None
    late: int
    no_time: int
    ahead: int
    corrupt: int
    batch_seconds: float  # the last batch, from its trigger to durable partials
    state: str  # running | idle | stopped | failed
    error: str = ""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """The version of a table that is in force for rows to come; one that is made of changes has none."""

    name: str
    version: int
    rows: int
    since: Instant | None  # rows after this event time see it; None: all
    read: str  # when: wall time, ISO 8601
    error: str = ""  # why a later reading failed
    stream: str = ""  # that it is made of; what is in force is known before this stream's watermark


@dataclass(frozen=True, slots=True)
class QueryStatus:
    name: str
    version: int
    stream: str
    state: str  # running | failed
    window: str  # `5 min every 10 s`, or `each row`
    next_end: Instant | None  # the next window to be answered
    waits_for: str  # why there is no newer answer yet, in words
    windows: int  # answered since the program was first started
    answers: int  # rows of answers, likewise
    late: int
    dead: int
    sink: str  # format
    sink_state: str  # ok | retrying | failed
    sink_error: str
    delivered: int  # the last step its sink holds
    error: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    home: str
    state: str  # running | idle: no query reads a stream | stopped
    steps: int
    streams: tuple[StreamStatus, ...]
    queries: tuple[QueryStatus, ...]
    step_seconds: float  # the last answer step
    latency_seconds: float  # from the trigger of a batch to its durable answers, last step
    cells: int  # live cells in memory
    state_bytes: int
    # what sharing saves
    partials_apart: int
    partials_shared: int
    row_updates_apart: float
    row_updates_shared: float
    updated: float  # seconds since 1970 at which this was written
    placement: str = ""  # where the cells are, and why there
    # what was counted and used during the last minute: see `share.model.measured`
    measured: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[TableStatus, ...] = ()

    def to_json(self) -> str:
        streams, queries = [_plain(part) for part in self.streams], [_plain(part) for part in self.queries]
        tables = [_plain(part) for part in self.tables]
        return json.dumps(_plain(self) | {"streams": streams, "queries": queries, "tables": tables})

    @staticmethod
    def from_json(text: str) -> Status:
        loaded: dict[str, Any] = json.loads(text)
        loaded["streams"] = tuple(StreamStatus(**stream) for stream in loaded["streams"])
        loaded["queries"] = tuple(QueryStatus(**query) for query in loaded["queries"])
        loaded["tables"] = tuple(TableStatus(**table) for table in loaded.get("tables", ()))
        return Status(**loaded)


def _plain(part: Status | StreamStatus | QueryStatus | TableStatus) -> dict[str, Any]:
    """Its fields; `asdict` copies every value, which a thousand queries feel each second."""
    return {name: getattr(part, name) for name in part.__slots__}
