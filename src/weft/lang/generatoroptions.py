"""The options of the built-in source, checked when a program is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.errors import QueryError, nearest_or_all
from weft.lang.statements import CreateStream
from weft.times import Duration, Instant, duration, instant

_DEFAULTS = {
    "preset": "market",
    "rows.per.batch": "1000",
    "rows.per.second": "1000",
    "rows": "",
    "symbols": "100",
    "start": "2026-01-01T00:00:00",
    "disorder": "0 seconds",
    "seed": "0",
}
_TIMES = "'now', or for example '2026-01-01T09:30:00'"


@dataclass(frozen=True, slots=True)
class Generator:
    """What a generator was asked for."""

    rows_per_batch: int
    rows_per_second: int
    rows: int | None
    symbols: int
    start: Instant | None  # None: the moment of the first run
    disorder: Duration
    seed: int

    @property
    def batches(self) -> int | None:
        """After how many batches it has given all its rows; None: never."""
        return None if self.rows is None else -(-self.rows // self.rows_per_batch)

    @property
    def milliseconds_per_batch(self) -> int:
        return max(1, self.rows_per_batch * 1000 // self.rows_per_second)


def generator(declared: CreateStream) -> Generator:
    """The generator that a stream declares."""
    given = {key.lower(): value for key, value in declared.options}
    for key in given:
        if key not in _DEFAULTS:
            raise _wrong(declared, f"the generator has no option '{key}'", nearest_or_all(key, _DEFAULTS))
    options = _DEFAULTS | given
    if options["preset"] != "market":
        raise _wrong(declared, f"the generator has no preset '{options['preset']}'", "it has 'market'")
    disorder = duration(options["disorder"])
    if disorder is None:
        raise _wrong(
            declared, f"'disorder' is no duration: '{options['disorder']}'", "for example '2 seconds'"
        )
    return Generator(
        rows_per_batch=_whole(declared, options, "rows.per.batch"),
        rows_per_second=_whole(declared, options, "rows.per.second"),
        rows=_whole(declared, options, "rows", least=0) if options["rows"] else None,
        symbols=_whole(declared, options, "symbols"),
        start=_start(declared, options["start"]),
        disorder=disorder,
        seed=_whole(declared, options, "seed", least=0),
    )


def _start(declared: CreateStream, text: str) -> Instant | None:
    if text.lower() == "now":
        return None
    try:
        found = instant(text)
    except ValueError:
        raise _wrong(declared, f"'start' is no time: '{text}'", _TIMES) from None
    if found < 0:
        raise _wrong(declared, f"'start' cannot be before 1970: '{text}'", _TIMES)
    return found


def _whole(declared: CreateStream, options: Mapping[str, str], key: str, least: int = 1) -> int:
    text = options[key]
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        what = f"'{key}' must be a whole number of at least {least}, not '{text}'"
        raise _wrong(declared, what, f"for example '{_DEFAULTS[key] or 1000}'")
    return int(text)


def _wrong(declared: CreateStream, what: str, help: str) -> QueryError:
    at = declared.source_place or declared.place
    return QueryError("generator-option", f"stream `{declared.name}`: {what}", at=at, help=help)
