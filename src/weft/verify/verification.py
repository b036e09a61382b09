"""What comes of verifying a query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying one query; `note` says what could not be, or what to bear in mind."""

    query: str
    windows: int
    rows: int
    equal: bool
    differences: list[str]
    note: str = ""
