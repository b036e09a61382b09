"""Program text, and the places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from sqlglot.tokenizer_core import Token

from weft.errors import Place


@dataclass(frozen=True)
class Text:
    """The text of a program, and the name of the file it came from."""

    text: str
    file: str = "<text>"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text)), len(self.text) + 1]

    def place(self, start: int, end: int) -> Place:
        """The characters from `start` up to but not including `end`; of several lines, the first."""
        line = bisect_right(self._line_starts, min(start, len(self.text)))
        begin, following = self._line_starts[line - 1 : line + 1]
        source = self.text[begin : following - 1].rstrip("\r")
        length = max(1, min(end, begin + len(source)) - start)
        return Place(self.file, line, start - begin + 1, length, source)

    def moved(self, place: Place, by: int) -> Place:
        """The place so many characters on, where the text is the same."""
        start = self._line_starts[place.line - 1] + place.column - 1 + by
        return self.place(start, start + place.length)

    def place_of(self, first: Token, last: Token | None = None) -> Place:
        return self.place(first.start, (last or first).end + 1)
