"""Numbered records in a directory, each with the data file it refers to: the shape of every log here.

    000000000041.json                  the record: what it is about, and where its tables lie
    000000000041-3.9f2c61aa.arrow      its data, under a name used once: number, owner's generation, chance;
                                       several files where several processes wrote it

A record is created once and complete, after its data; it is never changed. So the log is whatever the records
say: a data file without a record is what a crash left behind, and is swept when the owner opens the log.
Numbers have no gaps: what is expired is expired from the oldest on, and the newest record always stays.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from weft.errors import RunError
from weft.log.bundle import Bundle, BundleWriter, KnownColumns, Pieces, joined, write_bundle
from weft.log.durable import (
    create_once,
    damaged,
    entries,
    fault,
    find_record,
    parse_record,
    read_record,
    record_chunks,
    remove,
    write_file,
)
from weft.log.home import Home
from weft.log.paths import AnyPath
from weft.log.remote import RemotePath

_RECORD = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True, slots=True)
class Record:
    """What a log says of one number: the tables, and everything else as `meta`."""

    number: int
    meta: Mapping[str, Any]
    data: Bundle = field(default_factory=Bundle)
    generation: int = 0

    @property
    def tables(self) -> Mapping[str, Pieces]:
        return self.data.tables


class Series:
    """One directory of numbered records, safe for one writing thread and any number of reading ones.

    Numbers start at 0 and have no gaps. Expiry first says durably how far it goes, then deletes; so a file
    that is missing without being expired is noticed, at the old end as in the middle.
    """

    def __init__(
        self, home: Home, *directory: str, area: str, kind: str = "record", listed: bool = True
    ) -> None:
        """Without being `listed` it only reads what it is asked for by number."""
        self.home = home
        self.directory = home.directory(*directory)
        self._area = area  # with `kind`, the names of its fault points
        self._kind = kind
        self._lock = threading.RLock()
        self._cache: dict[int, Record] = {}
        self._numbers: range = range(0)
        self._known = KnownColumns()
        if listed:
            self.refresh()
        if home.owned:
            self._sweep()

    def refresh(self) -> None:
        """See what another process has written since."""
        for attempt in range(5):
            numbers, missing = self._list()
            if not missing:
                break
            if self.home.owned or attempt == 4:  # else the owner may be at work while we list
                raise damaged(self.path_of(min(missing)), "it is missing")
        with self._lock:
            self._numbers = numbers

    def _list(self) -> tuple[range, set[int]]:
        start = self._read_expired() + 1
        found = {number for number in self._find_numbers() if number >= start}
        numbers = range(start, max(found, default=start - 1) + 1)
        missing = set(numbers) - found if found or start == 0 else {start}
        return numbers, missing

    def _find_numbers(self) -> list[int]:
        return [int(match[1]) for name in entries(self.directory) if (match := _RECORD.fullmatch(name))]

    def _read_expired(self) -> int:
        found = find_record(self.directory / "expired.json")
        return -1 if found is None else int(found["upto"])

    @property
    def first(self) -> int:
        """The oldest number still there; the next one if there is none."""
        with self._lock:
            return self._numbers.start

    @property
    def next(self) -> int:
        """The number of the next record."""
        with self._lock:
            return self._numbers.stop

    def reaches(self, after: int) -> bool:
        """Whether every record past `after` is still there."""
        return self.first <= after + 1

    def path_of(self, number: int) -> AnyPath:
        return self.directory / f"{number:012d}.json"

    def find(self, number: int) -> Record | None:
        with self._lock:
            return self._read(number) if number in self._numbers else None

    def read(self, number: int) -> Record:
        """A record that is there; an error that names it if it is not."""
        with self._lock:
            return self._read(number)

    def records(self, after: int = -1) -> list[Record]:
        """The records still there with a number past `after`, oldest first."""
        with self._lock:
            numbers = self._numbers[max(0, after + 1 - self._numbers.start) :]
            self._fetch(numbers)
            return [self._read(number) for number in numbers]

    @property
    def last(self) -> Record | None:
        with self._lock:
            return self._read(self._numbers[-1]) if self._numbers else None

    def _fetch(self, numbers: Sequence[int]) -> None:
        """Where every read is a request, make one of many; what fails is found, and named, one by one."""
        missing = [number for number in numbers if number not in self._cache]
        if not isinstance(self.directory, RemotePath) or len(missing) < 2:
            return
        paths = [self.path_of(number) for number in missing]
        with suppress(FileNotFoundError):
            for number, path, data in zip(
                missing, paths, self.directory.read_many([path.name for path in paths])
            ):
                self._cache[number] = _from_json(parse_record(path, data))

    def _read(self, number: int) -> Record:
        if number not in self._cache:
            self._cache[number] = _from_json(read_record(self.path_of(number)))
        return self._cache[number]

    def commit(
        self, number: int, tables: Mapping[str, Any], meta: Mapping[str, Any], written: Sequence[Bundle] = ()
    ) -> Record:
        """Write tables and record; a record that is there already is in force, and returned instead.

        `written` are tables that others have put into this directory by `write_bundle`, as `stem` says.
        """
        found = self.find(number)
        if found is not None:
            return found
        self._check_next(number)
        own = write_bundle(self.directory, self.stem(number), tables, f"{self._area}.data")
        data = joined([own, *written])
        try:
            published = self._publish(Record(number, dict(meta), data, self.home.generation))
        except BaseException:
            # The disk may be full: leave nothing behind. Elsewhere a record that failed may yet come through.
            if not self.home.is_remote and not self.path_of(number).exists():
                remove(self.directory, data.files)
            raise
        if published.data.files != data.files:
            remove(self.directory, data.files)
        return published

    def writer(self, number: int, keep: int) -> BundleWriter:
        """For tables of a number that are too many to be held until it is committed, then as `written`."""
        return BundleWriter(self.directory, self.stem(number), f"{self._area}.data", keep)

    def stem(self, number: int) -> str:
        """How the names of the data files of a number begin."""
        return f"{number:012d}-{self.home.generation}"

    def _check_next(self, number: int) -> None:
        if number != self.next:
            raise RunError(
                "log-does-not-follow",
                f"number {number} cannot follow {self.next - 1} in {self.directory}",
                help="the log and what writes to it do not belong together: restore both from one backup",
            )

    def _publish(self, record: Record) -> Record:
        path = self.path_of(record.number)
        self.home.check_owner()
        if not create_once(path, record_chunks(_to_json(record)), f"{self._area}.{self._kind}"):
            record = _from_json(read_record(path))
        with self._lock:
            self._cache[record.number] = record
            self._numbers = range(self._numbers.start, record.number + 1)
        return record

    def load(self, record: Record, name: str) -> Any:
        """One table of a record, checked against its length and checksum."""
        return record.data.load(self.directory, name, self._known)

    def expire(self, upto: int) -> int:
        """Delete the records up to a number and their data, but never the newest; returns how many."""
        with self._lock:
            stop = min(upto + 1, self.next - 1)
            gone = range(self.first, stop)
            if not gone:
                return 0
            self.home.check_owner()
            write_file(
                self.directory / "expired.json", record_chunks({"upto": stop - 1}), f"{self._area}.expire"
            )
            self._numbers = range(stop, self.next)
            for number in gone:
                self._cache.pop(number, None)
        self._delete_expired()
        return len(gone)

    def _delete_expired(self) -> None:
        names = entries(self.directory)
        gone = [name for name in names if name[:12].isdigit() and int(name[:12]) < self.first]
        if not gone:
            return
        fault(f"{self._area}.delete.before")
        remove(self.directory, [name for name in gone if name.endswith(".json")])
        fault(f"{self._area}.delete.half")
        remove(self.directory, [name for name in gone if not name.endswith(".json")])
        fault(f"{self._area}.delete.after")

    def _sweep(self) -> None:
        """Delete what a crash left behind; done before the first write, which would look just like it."""
        self._delete_expired()
        data: dict[int, list[str]] = {}
        names = entries(self.directory)
        for name in names:
            if name.endswith(".arrow"):
                data.setdefault(int(name[:12]), []).append(name)
        stray = [name for name in names if name.endswith(".tmp")]
        for number, found in data.items():
            stray += [name for name in found if self._is_stray(number, name, len(found))]
        remove(self.directory, stray)

    def _is_stray(self, number: int, name: str, count: int) -> bool:
        if number not in self._numbers:
            # Without a lock, the owner before may be about to write the record. Its data expires in any case.
            return not self.home.is_remote
        record = self.find(number) if count > 1 else None  # a single one is the record's: no need to read it
        return record is not None and name not in record.data.files


def _to_json(record: Record) -> dict[str, Any]:
    return {
        "number": record.number,
        "meta": dict(record.meta),
        "generation": record.generation,
        **record.data.to_json(),
    }


def _from_json(body: Mapping[str, Any]) -> Record:
    return Record(body["number"], body["meta"], Bundle.from_json(body), body["generation"])
