"""The options of the sinks that weft writes itself, checked when a program is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.errors import Place, QueryError, nearest
from weft.lang.statements import Sink
from weft.times import SECOND, duration

FORMATS = ("parquet", "json", "csv")

_COMPRESSIONS = {
    "parquet": ("snappy", "zstd", "gzip", "lz4", "none"),
    "json": ("none", "gzip"),
    "csv": ("none", "gzip"),
}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How the files of a dataset are written."""

    format: str
    compression: str
    header: bool = True  # csv
    separator: str = ","  # csv
    flush: float = 0.0  # seconds between flushes, at least
    seal_every: float = 30.0  # seconds for which the answer log is kept
    roll_every: float = 600.0  # seconds after which a file is closed: at most some 360 files a day
    roll_rows: int = 1_000_000
    large_bytes: int = 4 << 20  # a tail of this size is closed sooner
    pending_bytes: int = 32 << 20  # rows not yet encoded

    @property
    def extension(self) -> str:
        packed = ".gz" if self.compression == "gzip" and self.format != "parquet" else ""
        return f".{self.format}{packed}"


def check_sink(query: str, sink: Sink) -> None:
    """Raise where a sink of weft's own lacks what it needs, or has options that it does not know."""
    if sink.format in FORMATS:
        file_options(sink.format, dict(sink.options), sink.place)
        path_of(query, sink)


def path_of(query: str, sink: Sink) -> str:
    """Where the files of a sink go."""
    path = next((value for name, value in sink.options if name.lower() == "path"), None)
    if path is None:
        raise QueryError(
            "option-missing",
            f"query `{query}` does not say where its {sink.format} files go",
            at=sink.place,
            help=f"INTO {sink.format} OPTIONS ('path' = 'out/{query}')",
        )
    return path


def file_options(format: str, options: Mapping[str, str], at: Place | None = None) -> FileOptions:
    """The options of a file sink of this format; `path` is not one of them, but allowed."""
    found = FileOptions(format, _COMPRESSIONS[format][0])
    for name, text in options.items():
        if name.lower() != "path":
            found = _read(found, name, text, at)
    return found


def _read(found: FileOptions, name: str, text: str, at: Place | None) -> FileOptions:
    if name.lower() not in _known(found.format):
        raise QueryError(
            "unknown-sink-option",
            f"a {found.format} sink has no option '{name}'",
            at=at,
            help=nearest(name, _known(found.format)) or f"it knows {', '.join(_known(found.format))}",
        )
    field, read = _READERS[name.lower()]
    try:
        value = read(text)
    except (ValueError, KeyError):
        raise _bad_value(name, text, _EXAMPLES[field], at) from None
    if field == "compression" and value not in _COMPRESSIONS[found.format]:
        raise _bad_value(name, text, " or ".join(f"'{known}'" for known in _COMPRESSIONS[found.format]), at)
    return replace(found, **{field: value})


_EXAMPLES = {
    "header": "'true' or 'false'",
    "separator": "one character, such as ';'",
    "flush": "a length of time, such as '2 seconds'",
    "roll_every": "a length of time, such as '10 minutes'",
    "roll_rows": "a number of rows, such as '1000000'",
}


def _known(format: str) -> tuple[str, ...]:
    only_csv = ("header", "sep", "delimiter")
    return ("path", *(name for name in _READERS if format == "csv" or name not in only_csv))


def _bad_value(name: str, text: str, wanted: str, at: Place | None) -> QueryError:
    return QueryError("bad-sink-option", f"option '{name}' cannot be '{text}'", at=at, help=f"give {wanted}")


def _seconds(text: str) -> float:
    length = duration(text)
    if length is None or length <= 0:
        raise ValueError(text)
    return length / SECOND


def _positive(text: str) -> int:
    if int(text) <= 0:
        raise ValueError(text)
    return int(text)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _character(text: str) -> str:
    plain = {"\\t": "\t"}.get(text, text)
    if len(plain.encode()) != 1:
        raise ValueError(text)
    return plain


_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "compression": ("compression", str.lower),
    "header": ("header", _boolean),
    "sep": ("separator", _character),
    "delimiter": ("separator", _character),
    "flush": ("flush", _seconds),
    "roll.every": ("roll_every", _seconds),
    "roll.rows": ("roll_rows", _positive),
}
