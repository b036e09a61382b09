"""File sinks: datasets of Parquet, JSON or CSV files that are complete and right at every moment.

    dataset/   part-000000000000.parquet    closed: steps 0 to 571, never touched again
               part-000000000572.parquet    the tail: steps 572 to now, replaced as a whole at every flush
               .weft-sink.json              whose dataset this is; a dot makes it invisible to readers
    home/delivery/   <key>.json             the position: which file is the tail, and which steps are sealed
                     <key>-<step>.tail      the tail as it was sealed

A file is named by its first step; the position names it before it exists, and after the one before it is
complete and on the disk. A flush shows readers what has come, and does not wait for the disk. Sealing, less
often, makes the tail so far durable in the home, and frees the answer log up to there. After a crash the tail
is made again from what was sealed and the log behind it, under the same name: whatever was there is replaced,
so nothing is doubled or lost. Files are staged outside the dataset and renamed into it: none is ever seen
half-written.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.engine.datasets import parts, staging_for, sync_way, take_dataset
from weft.engine.tails import WHOLE_ROW_GROUP, ParquetTail, Tail, TextTail, plain_table
from weft.engine.textrows import csv_lines, json_lines
from weft.lang.sinkoptions import FileOptions, file_options
from weft.log.durable import (
    checksum,
    damaged,
    entries,
    fault,
    find_record,
    record_chunks,
    remove,
    replace_from,
    write_file,
    write_new,
    writing,
)
from weft.log.home import Home, file_name
from weft.log.paths import AnyPath, locate
from weft.log.remote import RemotePath
from weft.times import Duration, Instant

_FLUSH_COST = 640 << 10  # bytes that could be written in the time a flush takes beside its own
_FLUSH_ELSEWHERE = 10.0  # seconds: each one sends the whole tail, and object stores charge by the request
_ENDS = (("window_end",), ("valid_to", "valid_from"), ("changed_at",))  # by which RETAIN goes
_SOONEST_ROLL = 0.4  # of the time after which a file is closed: a large one is closed then


class FileSink:
    """Appends the answers of one query to one dataset. Used by one thread, once attached to a home."""

    def __init__(
        self,
        directory: str | AnyPath,
        format: str = "parquet",
        options: Mapping[str, str] | None = None,
        *,
        retain: Duration | None = None,
        watermark: Callable[[], Instant | None] = lambda: None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.directory = locate(directory).absolute()
        self.resolved = _resolved(self.directory)
        self.options: FileOptions = file_options(format, options or {})
        if isinstance(self.directory, RemotePath) and "flush" not in map(str.lower, options or {}):
            self.options = replace(self.options, flush=_FLUSH_ELSEWHERE)
        self._retain = retain
        self._watermark = watermark
        self._wall = wall

    # -- where it stands

    def attach(self, home: Home, key: str, first: int, now: float = 0.0, phase: float = 0.0) -> None:
        """Take up the dataset where it was left. `first` is the oldest step that the answer log holds.

        `phase`, from 0 to 1, spreads the flushes of many sinks over the time between two of them.
        """
        self._home, self._key = home, key
        self._position_path = home.directory("delivery") / f"{file_name(key)}.json"
        found = find_record(self._position_path)
        known = found is not None
        self._owner = {"home": home.id, "key": key}
        take_dataset(self.directory, self._owner, known)
        if not known and parts(self.directory):
            raise damaged(self._position_path, f"it is missing, but {self.directory} holds answers")
        self._staging = staging_for(self.directory, home.directory("staging"))
        self._flush_at, self._phase = now, phase
        self._seal_at = now + (1 + phase) * self.options.seal_every
        body = _new_position(first) if found is None else found
        self.missed: list[list[int]] = body["missed"]
        self._closed: list[list[Any]] = body["closed"]  # name and newest end, where there is a limit
        self._resume(body)
        self._drop_strays()
        ahead = [name for step, name in sorted(parts(self.directory).items()) if step > self.first]
        if ahead:
            raise damaged(self._position_path, f"it is older than {self.directory / ahead[0]}")
        if self._retain is not None:
            self._adopt_unlisted()
        self._is_named = known  # the position names the tail
        self._is_way_synced = False
        if self.position + 1 < first:
            self._skip_to(first)

    def _begin(self, first: int, opened: float) -> None:
        self.first = first  # step of the tail
        self.position = first - 1  # the last step added
        self.flushed = first - 1  # the last step that readers see
        self.durable = first - 1  # the last step that the answer log need not hold for this sink
        self._opened = opened
        self._tail: Tail | None = None
        self._schema: Any = None
        self._pending: list[Any] = []
        self._rows = self._pending_bytes = 0
        self._newest: Instant | None = None
        self._sealed: list[Any] | None = None  # name, length, checksum, rows, newest end
        self._is_seen = True  # readers see all that has come

    def _resume(self, body: Mapping[str, Any]) -> None:
        """Go on with the tail as it was sealed; the steps after that come again from the answer log."""
        self._begin(body["tail"], body["opened"] or self._wall())
        self.position = self.durable = body["upto"]
        self._sealed = body["sealed"]
        if self._sealed is not None:
            name, length, check, self._rows, self._newest = self._sealed
            data = _read_sealed(self._position_path.parent / name, length, check)
            self._tail = _new_tail(self.options)
            self._schema = self._tail.load(data)
            self._is_seen = False

    def _skip_to(self, first: int) -> None:
        """Close the tail as it is: the answer log does not hold what comes next."""
        self.missed = [*self.missed, [self.position + 1, first - 1]]
        self.flush(sync=True)
        opened = self._wall()
        self._save_position(first, first - 1, opened, None)
        self._begin(first, opened)

    @property
    def nbytes(self) -> int:
        """What the tail takes in memory, and about what a flush writes."""
        return (self._tail.nbytes if self._tail is not None else 0) + self._pending_bytes

    def _save_position(self, first: int, upto: int, opened: float, sealed: list[Any] | None) -> None:
        self._home.check_owner()
        body = {
            "key": self._key,
            "dataset": str(self.directory),
            "tail": first,
            "upto": upto,
            "opened": opened,
            "sealed": sealed,
            "missed": self.missed,
            "closed": self._closed,
        }
        write_file(self._position_path, record_chunks(body), "sink.position")
        self._is_named = True
        if self._sealed is not None and self._sealed != sealed:
            remove(self._position_path.parent, [self._sealed[0]])
        self._sealed = sealed

    # -- rows come in and become visible

    def add(self, step: int, table: Any | None) -> None:
        """Take the answers of a step; they are seen after the next flush."""
        if table is not None and table.num_rows:
            table = plain_table(table)
            if self._rows >= self.options.roll_rows or not self._fits(table):
                self.roll()
            self._schema = table.schema
            self._pending.append(table)
            self._pending_bytes += table.nbytes
            self._rows += table.num_rows
            self._note_newest(table)
            self._is_seen = False
        self.position = step
        if self._pending_bytes > self.options.pending_bytes:
            self._encode()

    def _fits(self, table: Any) -> bool:
        return self._schema is None or bool(table.schema.equals(self._schema))

    def tend(self, now: float, share: float, final: bool = False) -> None:
        """Flush, seal or close the tail if it is time; `share`: the bytes a second that it may write."""
        if self.is_due_to_roll():
            self.roll()
        elif final:
            self.flush(sync=True)
        else:
            if (now >= self._flush_at or self._is_seen) and (written := self.flush()):
                pause = max(self.options.flush, (written + _FLUSH_COST) / share)
                self._flush_at = now + (1 + self._phase) * pause
                self._phase = 0.0
            if now >= self._seal_at:
                self._seal_at = now + max(self.options.seal_every, 8 * self.seal() / share)

    def rests(self, now: float) -> bool:
        """Has it nothing to do by now, unless more answers come?"""
        is_young = self._wall() - self._opened < _SOONEST_ROLL * self.options.roll_every
        is_held = self.durable == self.position or now < self._seal_at
        return is_young and is_held and self._is_seen and self.flushed == self.position

    def flush(self, sync: bool = False) -> int:
        """Let readers see what has come; returns the bytes written. `sync`: and have it on the disk."""
        written = 0
        if not self._is_seen or (sync and self._rows):
            self._encode()
            written = self._replace_tail(sync)
        self.flushed = self.position
        return written

    def seal(self) -> int:
        """Make the tail so far durable, so that the answer log need not be kept for it; returns its bytes."""
        if self.durable == self.position:
            return 0
        sealed, written = self._sealed, 0
        if self._rows != (sealed[3] if sealed is not None else 0):
            self._encode()
            sealed = self._write_sealed()
            written = sealed[1]
        self._save_position(self.first, self.position, self._opened, sealed)
        self.durable = self.position
        return written

    def _write_sealed(self) -> list[Any]:
        assert self._tail is not None
        chunks = self._tail.chunks()
        name = f"{file_name(self._key)}-{self.position:012d}.tail"
        (self._position_path.parent / name).unlink(missing_ok=True)  # of a seal that failed half-way
        write_new(self._position_path.parent / name, chunks, "sink.seal")
        return [name, sum(map(len, chunks)), checksum(chunks), self._rows, self._newest]

    def is_due_to_roll(self) -> bool:
        """Whether the tail is old enough to be closed; a large one sooner, as every flush writes it all."""
        age = self._wall() - self._opened
        return age >= self.options.roll_every or (
            self.nbytes >= self.options.large_bytes and age >= self.options.roll_every * _SOONEST_ROLL
        )

    def roll(self) -> None:
        """Close the tail; the steps after it go into a new file."""
        if self._rows:
            self._encode()
            assert self._tail is not None
            self._tail.compact()
            self._replace_tail(sync=True)
            if self._retain is not None and self._part_name() not in (name for name, _ in self._closed):
                self._closed = [*self._closed, [self._part_name(), self._newest]]
        self._expire()
        opened = self._wall()
        self._save_position(self.position + 1, self.position, opened, None)
        self._begin(self.position + 1, opened)

    def give_up(self) -> None:
        """Keep what has come for another time; the answer log need not be held for this sink any longer."""
        self.seal()
        self._tail = None

    def _encode(self) -> None:
        if not self._pending:
            return
        if self._tail is None:
            self._tail = _new_tail(self.options)
        table = pa.concat_tables(self._pending)
        for offset in range(0, table.num_rows, WHOLE_ROW_GROUP):
            self._tail.add(table.slice(offset, WHOLE_ROW_GROUP))
        self._pending, self._pending_bytes = [], 0

    def _replace_tail(self, sync: bool) -> int:
        assert self._tail is not None
        self._home.check_owner()
        if not self._is_named:
            self._save_position(self.first, self.durable, self._opened, None)
        chunks = self._tail.chunks()
        if isinstance(self.directory, Path) and not self.directory.exists():
            take_dataset(self.directory, self._owner, known=True)
            self._is_way_synced = False
        replace_from(self._staging, self.directory / self._part_name(), chunks, "sink.tail", sync)
        self.flushed, self._is_seen = self.position, True
        if sync:
            self._sync_way()
        return sum(map(len, chunks))

    def _sync_way(self) -> None:
        if not self._is_way_synced:
            with writing(self.directory):
                sync_way(self.directory)
            self._is_way_synced = True

    def _part_name(self) -> str:
        return f"part-{self.first:012d}{self.options.extension}"

    def _drop_strays(self) -> None:
        """Delete what a crash left of sealing."""
        stray = re.compile(re.escape(file_name(self._key)) + r"-\d{12}\.tail")
        directory, kept = self._position_path.parent, self._sealed and self._sealed[0]
        remove(directory, [name for name in entries(directory) if stray.fullmatch(name) and name != kept])
        if isinstance(self.directory, RemotePath):  # there is no staging directory to be cleared
            remove(self.directory, [name for name in entries(self.directory) if name.endswith(".tmp")])

    # -- old answers go

    def _note_newest(self, table: Any) -> None:
        if self._retain is not None:
            newest = _newest_end(table)
            newest = self._watermark() if newest is None else newest
            self._newest = max((at for at in (self._newest, newest) if at is not None), default=None)

    def _expire(self) -> None:
        """Delete closed files all of whose answers ceased to hold longer ago than they are to be kept."""
        watermark = self._watermark()
        if self._retain is None or watermark is None:
            return
        bound = watermark - self._retain
        gone = [name for name, newest in self._closed if newest is not None and newest < bound]
        if gone:
            fault("sink.delete.before")
            for at, name in enumerate(gone):
                (self.directory / name).unlink(missing_ok=True)
                if at == 0:
                    fault("sink.delete.half")
            fault("sink.delete.after")
            self._closed = [entry for entry in self._closed if entry[0] not in gone]

    def _adopt_unlisted(self) -> None:
        """Learn the age of files that were closed before there was a limit."""
        listed = {name for name, _ in self._closed}
        for step, name in sorted(parts(self.directory).items()):
            if step < self.first and name not in listed and name.endswith(".parquet"):
                self._closed.append([name, _newest_in_file(self.directory / name)])


def _new_position(first: int) -> dict[str, Any]:
    return {"tail": first, "upto": first - 1, "opened": None, "sealed": None, "missed": [], "closed": []}


def _new_tail(options: FileOptions) -> Tail:
    match options.format:
        case "parquet":
            return ParquetTail(options.compression)
        case "json":
            return TextTail(lambda table, _: json_lines(table), options.compression == "gzip")
        case _:
            return TextTail(
                lambda table, first: csv_lines(table, first and options.header, options.separator),
                options.compression == "gzip",
            )


def _read_sealed(path: AnyPath, length: int, check: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    if len(data) != length or checksum([data]) != check:
        raise damaged(path, "its checksum does not match")
    return data


def _newest_end(table: Any) -> Instant | None:
    """When the last of the rows ceased to hold; by when it began where it is not told that it ends."""
    columns = [table.column(name) for name in _told_by(table.schema)]
    newest = pc.max(pc.coalesce(*columns)) if columns else None
    return int(newest.value) if newest is not None and newest.is_valid else None


def _told_by(schema: Any) -> list[str]:
    """The columns that tell how long rows hold, or when they changed: the first of an answer."""
    first = [(field.name, pa.types.is_timestamp(field.type)) for field in schema][:2]
    times = [name for name, is_time in first if is_time]
    wanted = next((each for each in _ENDS if set(each) & set(times)), ())
    return [name for name in wanted if name in times]


def _newest_in_file(path: AnyPath) -> Instant | None:
    file = pq.ParquetFile(path if isinstance(path, Path) else pa.BufferReader(path.read_bytes()))
    told = _told_by(file.schema_arrow)
    return _newest_end(file.read(told)) if told else None


def _resolved(directory: AnyPath) -> str:
    """The same for the same directory, and a path also where it is a URL."""
    return os.path.realpath(directory) if isinstance(directory, Path) else f"/{Path(str(directory))}"
