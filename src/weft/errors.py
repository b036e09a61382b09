"""What goes wrong, where, and how to mend it.

Kinds follow who can act: `QueryError` the author of a program, `RunError` the operator of a running one,
`Bug` the makers of weft.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

_LISTED = 8  # names, where all are told


class Place(NamedTuple):
    """A stretch of program text: line and column count from 1, `length` is in characters."""

    file: str
    line: int
    column: int
    length: int
    source: str  # the whole line it stands in

    def __deepcopy__(self, memo: object) -> Place:
        """Itself: trees that carry places are copied often."""
        return self


class WeftError(Exception):
    """An error that says what, where and how to fix it.

    `code` is stable and meant for scripts; `because` is written under the underlined place.
    """

    def __init__(
        self, code: str, what: str, *, at: Place | None = None, because: str = "", help: str = ""
    ) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.at = at
        self.because = because
        self.help = help

    def __str__(self) -> str:
        return show_error(self)


class QueryError(WeftError):
    """The program text is wrong; its author can mend it."""


class RunError(WeftError):
    """The program is right but cannot run here and now; its operator can mend it."""


class Bug(WeftError):
    """Weft broke a promise of its own."""


class Errors(WeftError):
    """Several errors found in one go."""

    def __init__(self, errors: Iterable[WeftError]) -> None:
        self.errors = tuple(errors)
        count = len(self.errors)
        super().__init__("errors", f"{count} error{'s' if count != 1 else ''}")

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)


def show_error(error: WeftError) -> str:
    """The error as text: a headline, the underlined place, the help."""
    lines = [f"error[{error.code}]: {error.what}"]
    if error.at is not None:
        lines += _show_place(error.at, error.because)
    elif error.because:
        lines.append(f"  {error.because}")
    if error.help:
        lines.append(f"  help: {error.help}")
    return "\n".join(lines)


def _show_place(at: Place, because: str) -> list[str]:
    gutter = " " * len(str(at.line))
    before = "".join("\t" if char == "\t" else " " for char in at.source[: at.column - 1])
    carets = "^" * max(1, min(at.length, len(at.source) - at.column + 1))
    return [
        f"  {at.file}:{at.line}:{at.column}",
        f"  {at.line} | {at.source}",
        f"  {gutter} | {before}{carets} {because}".rstrip(),
    ]


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean x?` for the known name nearest to `name`, or nothing."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[found[0]]}`?" if found else ""


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """The known name nearest to `name`; where none is near, which there are."""
    there = sorted(known)
    return nearest(name, there) or (f"there are {listed(there)}" if there else "there is none")


def listed(names: Sequence[str]) -> str:
    """`a, b, c`; of many the first, and how many more there are."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
