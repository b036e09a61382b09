"""The ends of windows, as SQL over whole microseconds; right before 1970, too."""

from __future__ import annotations

from weft.lang.statements import WindowSpec
from weft.plan.relations import AsOf


def first_end(instant: str, window: WindowSpec | AsOf) -> str:
    """The least end of the window that is greater than `instant`."""
    s, o = window.slide, window.offset % window.slide
    return f"({instant} - ((({instant} - {o}) % {s}) + {s}) % {s} + {s})"


def last_end(instant: str, window: WindowSpec | AsOf) -> str:
    """The greatest end of the window that is not greater than `instant`."""
    return f"({first_end(instant, window)} - {window.slide})"
