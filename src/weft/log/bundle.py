"""Several Arrow tables in one file: IPC streams one after the other, and an index of where each lies.

    [ stream of table a ][ stream of table b ][ ... ]        index: a -> (offset, length, rows, checksum)

One file instead of one per table keeps small steps cheap: what a write costs is the sync, not the bytes.
Long columns that several tables have in common, parts of the same memory, are written once, in a stream of
their own:

    [ window_end ][ a without it ][ b without it ]           index: a -> (...), its column 1 is at (...)

And tables that are rows of one are written as that one:

    [ rows of a, of b, of c ]                                index: a -> (...), of it rows 0 to 2
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from weft.log.common import MANY_ROWS, Memory, Span, common_columns, new_bytes, spans
from weft.log.durable import Chunks, NewFile, checksum, damaged
from weft.log.paths import AnyPath
from weft.log.remote import RemotePath

PIECE_BYTES = 32 << 20  # small enough for its memory to be had again for the next piece without clearing it

_KNOWN_BYTES = 64 << 20  # of columns kept by a reader
_SAMPLE = 1 << 12  # bytes of a column that are tried
_SHRUNK = 0.2  # what they must be pressed into: pressing costs ten times what writing costs
# Handing columns to threads costs more than packing them.
_PRESSED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_AS_IT_IS = pa.ipc.IpcWriteOptions(use_threads=False)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one table, or a piece of it, lies in its file."""

    offset: int
    length: int
    rows: int
    checksum: str
    file: int = 0  # its place in a list of files
    common: tuple[Common, ...] = ()
    part: Part | None = None  # only these of its rows

    def moved(self, files: int) -> Slot:
        """The same in a list with so many files before it."""
        return replace(self, file=self.file + files) if files else self

    def to_json(self) -> list[Any]:
        body: list[Any] = [self.offset, self.length, self.rows, self.checksum, self.file]
        if self.common or self.part is not None:
            body.append([[*column, slot.to_json()] for *column, slot in self.common])
        return body if self.part is None else [*body, self.part.to_json()]

    @classmethod
    def from_json(cls, body: Sequence[Any]) -> Slot:
        common = body[5] if len(body) > 5 else ()
        columns = tuple((place, name, first, cls.from_json(slot)) for place, name, first, slot in common)
        part = Part.from_json(body[6]) if len(body) > 6 else None
        offset, length, rows, checksum, file = body[:5]
        return cls(offset, length, rows, checksum, file, columns, part)

    def count(self) -> int:
        """How many rows it stands for."""
        return self.rows if self.part is None else self.part.rows


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a table that are a table of their own; `names` are those of its columns if they are others."""

    first: int
    rows: int
    names: tuple[str, ...] = ()

    def of(self, table: Any) -> Any:
        rows = table.slice(self.first, self.rows)
        return rows.rename_columns(list(self.names)) if self.names else rows

    def to_json(self) -> list[Any]:
        return [self.first, self.rows, list(self.names)] if self.names else [self.first, self.rows]

    @classmethod
    def from_json(cls, body: Sequence[Any]) -> Part:
        first, rows, *names = body
        return cls(first, rows, tuple(*names))


Common = tuple[int, str, int, Slot]  # a column: place and name in its table, first row, where it lies
Pieces = tuple[Slot, ...]  # of one table, in order


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tables in files: what a record says of them."""

    files: tuple[str, ...] = ()
    tables: Mapping[str, Pieces] = field(default_factory=dict)

    def without(self, names: Container[str]) -> Bundle:
        """The same without some of its tables."""
        return Bundle(self.files, {name: at for name, at in self.tables.items() if name not in names})

    def under(self, start: str) -> Bundle:
        """Its tables whose names begin so, by the rest of their names."""
        found = {name: at for name, at in self.tables.items() if name.startswith(start)}
        return Bundle(self.files, found).renamed(lambda name: name.removeprefix(start))

    def renamed(self, name: Callable[[str], str]) -> Bundle:
        return Bundle(self.files, {name(old): pieces for old, pieces in self.tables.items()})

    def rows(self, name: str) -> int:
        return sum(slot.count() for slot in self.tables[name])

    def load(self, directory: AnyPath, name: str, known: KnownColumns | None = None) -> Any:
        """One table, each of its pieces checked against its length and checksum."""
        known = KnownColumns() if known is None else known
        pieces = [_unpack(directory / self.files[slot.file], slot, known) for slot in self.tables[name]]
        return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces, promote_options="default")

    def to_json(self) -> dict[str, Any]:
        tables = {name: [slot.to_json() for slot in pieces] for name, pieces in self.tables.items()}
        return {"files": list(self.files), "tables": tables}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Bundle:
        tables = {name: tuple(map(Slot.from_json, pieces)) for name, pieces in body["tables"].items()}
        return cls(tuple(body["files"]), tables)


def joined(bundles: Iterable[Bundle]) -> Bundle:
    """One bundle of all: tables of one name are pieces of one."""
    files: list[str] = []
    tables: dict[str, list[Slot]] = {}
    for bundle in bundles:
        for name, pieces in bundle.tables.items():
            tables.setdefault(name, []).extend(slot.moved(len(files)) for slot in pieces)
        files += bundle.files
    return Bundle(tuple(files), {name: tuple(pieces) for name, pieces in tables.items()})


def write_bundle(directory: AnyPath, stem: str, tables: Mapping[str, Any], point: str) -> Bundle:
    """Tables durably in a file of their own, whose name begins with `stem` and is used once."""
    with BundleWriter(directory, stem, point) as out:
        for name, table in tables.items():
            out.add(name, table)
        out.write()
    return out.bundle()


class BundleWriter:
    """Tables into one file, as they come: of what is added, no more than a piece waits to be written.

    Nothing is written, and there is no file, before a piece is full or `write` is called. On leaving the
    context without an error the file is durable. The first tables are kept for whoever will read them soon.
    """

    def __init__(self, directory: AnyPath, stem: str, point: str, keep: int = 0) -> None:
        """`keep`: so many bytes."""
        self.held: dict[str, Any] = {}  # not yet written
        self.kept: dict[str, Any] = {}  # written, and kept
        self.kept_bytes = 0
        self._path = directory / f"{stem}.{secrets.token_hex(4)}.arrow"
        self._point, self._keep = point, keep
        self._file: NewFile | None = None
        self._layout = _Layout()
        self._index: dict[str, Pieces] = {}
        self._waiting: dict[str, Any] = {}  # what is held, as it is to be written
        self._parts: dict[str, Mapping[str, Part]] = {}  # of one that waits: by the name it waits under
        self._spans: dict[str, Sequence[Span | None]] = {}  # of what is waiting
        self._memory: set[Memory] = set()  # of what is held
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is not None:
            self._file.close() if kind is None else self._file.give_up()

    @property
    def has_parts(self) -> bool:
        """Is anything held that is best written by this writer?"""
        return bool(self._parts)

    def add_parts(self, table: Any, parts: Mapping[str, Part]) -> None:
        """Tables that are rows of this one, by name; of one name, more rows."""
        if not self.held.keys().isdisjoint(parts):
            self.write()
        if len(parts) <= 1:
            for name, part in parts.items():
                self.add(name, part.of(table))
            return
        first = next(iter(parts))
        self._parts[first] = parts
        self.held |= {name: part.of(table) for name, part in parts.items()}
        self._wait(first, table)

    def add(self, name: str, table: Any) -> None:
        """One more table, or more rows of one."""
        if name in self.held:
            self.write()
        self.held[name] = table
        self._wait(name, table)

    def _wait(self, name: str, table: Any) -> None:
        self._waiting[name] = table
        self._spans[name] = spans(table)
        self._size += new_bytes(table, self._spans[name], self._memory)
        if self._size >= PIECE_BYTES:
            self.write()

    def write(self) -> None:
        """Hold nothing any more."""
        if not self.held:
            return
        if self._file is None:
            self._file = NewFile(self._path, self._point)
        chunks, index = self._layout.add(self._waiting, self._spans)
        keep = self.kept_bytes + self._size <= self._keep
        self._file.put(chunks, cached=not keep)
        for name, slot in index.items():
            parts = self._parts.get(name)
            for one, pieces in ({name: (slot,)} if parts is None else _parted(slot, parts)).items():
                self._index[one] = (*self._index.get(one, ()), *pieces)
        self._keep_some(keep)
        self.held, self._waiting, self._parts = {}, {}, {}
        self._spans, self._memory, self._size = {}, set(), 0

    def _keep_some(self, keep: bool) -> None:
        """Keep what is held, if it is to be kept; a table of which an earlier part is not is kept no more."""
        again = {name for name in self.held if len(self._index[name]) > 1}
        if keep:
            self.kept |= {name: table for name, table in self.held.items() if name not in again}
            self.kept_bytes += self._size
        for name in again & self.kept.keys():
            del self.kept[name]

    def bundle(self) -> Bundle:
        """What is written, if anything is."""
        return Bundle((self._path.name,), self._index) if self._index else Bundle()


def _parted(slot: Slot, parts: Mapping[str, Part]) -> dict[str, Pieces]:
    """Where parts of a table lie."""
    return {name: (replace(slot, part=part),) for name, part in parts.items()}


class _Layout:
    """Where tables lie in a file: streams one behind the other."""

    def __init__(self) -> None:
        self._size = 0
        self._common: dict[Memory, Span] = {}  # columns in streams of their own; holding on to their memory
        self._places: dict[Memory, Slot] = {}

    def add(
        self, tables: Mapping[str, Any], columns: Mapping[str, Sequence[Span | None]]
    ) -> tuple[Chunks, dict[str, Slot]]:
        """The bytes of more tables, and their places; `columns` are their spans."""
        chunks: list[Any] = []
        common = common_columns(columns.values(), self._common)
        for memory, span in common.items():
            if span is not self._common.get(memory):
                self._places[memory] = self._put(chunks, pa.table({"": span.array()}))
        self._common |= common
        return chunks, {name: self._add(chunks, table, columns[name]) for name, table in tables.items()}

    def _add(self, chunks: list[Any], table: Any, columns: Sequence[Span | None]) -> Slot:
        apart: list[Common] = []
        for at, span in enumerate(columns):
            if span is not None and span.memory in self._common:
                first = span.start - self._common[span.memory].start
                apart.append((at, table.column_names[at], first, self._places[span.memory]))
        gone = {at for at, *_ in apart}
        own = table.select([at for at in range(table.num_columns) if at not in gone]) if apart else table
        return self._put(chunks, own, tuple(apart))

    def _put(self, chunks: list[Any], table: Any, common: tuple[Common, ...] = ()) -> Slot:
        stream = _stream(table)
        length = sum(len(chunk) for chunk in stream)
        slot = Slot(self._size, length, table.num_rows, checksum(stream), common=common)
        chunks += stream
        self._size += slot.length
        return slot


def _stream(table: Any) -> Chunks:
    """An IPC stream, of which the columns are parts of the table's memory where they are not pressed."""
    has_dictionary = any(pa.types.is_dictionary(kind) for kind in table.schema.types)
    press = has_dictionary or (table.num_rows >= MANY_ROWS and _shrinks(table))
    out = _Parts()
    with pa.ipc.new_stream(
        pa.PythonFile(out, mode="w"), table.schema, options=_PRESSED if press else _AS_IT_IS
    ) as writer:
        writer.write_table(table.combine_chunks())
    return out.parts


class _Parts:
    """A file that keeps what it is given."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def write(self, part: Any) -> None:
        self.parts.append(part)


def _shrinks(table: Any) -> bool:
    """Whether samples of its bytes become smaller: sums and averages of doubles do not."""
    buffers = [buffer for column in table.columns for buffer in column.chunk(0).buffers()]
    samples = [
        buffer.slice(0, min(_SAMPLE, buffer.size)) for buffer in buffers if buffer is not None and buffer.size
    ]
    pressed = sum(len(pa.compress(sample, "lz4", asbytes=True)) for sample in samples)
    return pressed < _SHRUNK * sum(int(sample.size) for sample in samples)


class KnownColumns:
    """Columns, and rows, that tables have in common: kept for whoever reads one table after the other."""

    def __init__(self) -> None:
        self._columns: dict[tuple[AnyPath, int], Any] = {}  # by file and offset, the last read at the end
        self._nbytes = 0
        self._lock = threading.Lock()

    def find(self, path: AnyPath, slot: Slot) -> Any:
        """The columns that lie there."""
        with self._lock:
            columns = self._columns.pop((path, slot.offset), None)
            if columns is None:
                columns = _unpack_stream(path, slot)
                self._nbytes += columns.nbytes
            self._columns[path, slot.offset] = columns
            while self._nbytes > _KNOWN_BYTES and len(self._columns) > 1:
                self._nbytes -= self._columns.pop(next(iter(self._columns))).nbytes
            return columns


def _unpack(path: AnyPath, slot: Slot, known: KnownColumns) -> Any:
    """One table of a file, checked against its index entry."""
    table = _unpack_stream(path, slot) if slot.part is None else known.find(path, slot)
    for place, name, first, where in slot.common:
        table = table.add_column(place, name, known.find(path, where).column(0).slice(first, slot.rows))
    return table if slot.part is None else slot.part.of(table)


def _unpack_stream(path: AnyPath, slot: Slot) -> Any:
    data = _read(path, slot)
    if len(data) != slot.length:
        raise damaged(path, f"it ends at byte {slot.offset + len(data)} of {slot.offset + slot.length}")
    if checksum([data]) != slot.checksum:
        raise damaged(
            path, f"the checksum of bytes {slot.offset} to {slot.offset + slot.length} does not match"
        )
    return pa.ipc.open_stream(data).read_all()


def _read(path: AnyPath, slot: Slot) -> bytes:
    try:
        if isinstance(path, RemotePath):
            return path.read_bytes(slot.offset, slot.offset + slot.length)
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise damaged(path, "it is missing") from None
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    with open(handle, "rb", buffering=0) as file:
        file.seek(slot.offset)
        return _read_all(file, slot.length)


def _read_all(file: Any, length: int) -> bytes:
    parts = []
    while length > 0 and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
