"""What a query can read from: streams, tables and views, by name."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from weft.errors import QueryError, nearest
from weft.lang.bodies import FromName
from weft.lang.statements import CreateView
from weft.plan.nodes import Stream, Table


class Silent(Exception):
    """What is read is wrong in itself, which has been told."""


@dataclass(frozen=True, slots=True)
class Declared:
    """By lower-case name; None for what is wrong in itself and has been reported.

    `unseen` are names that statements which cannot be read may have declared.
    """

    streams: Mapping[str, Stream | None]
    tables: Mapping[str, Table | None] = field(default_factory=dict)
    views: Mapping[str, CreateView | None] = field(default_factory=dict)
    unseen: Container[str] = ()
    told: Mapping[str, str] = field(default_factory=dict)  # types that Spark told

    def find(self, source: FromName) -> Stream | Table | CreateView:
        """What the name stands for; raises an error that offers the nearest."""
        name = source.name.lower()
        for kind in (self.streams, self.tables, self.views):
            if name in kind:
                found = kind[name]
                if found is None:
                    raise Silent
                return found
        if source.name in self.unseen:
            raise Silent
        raise self._unknown(source)

    def _unknown(self, source: FromName) -> QueryError:
        known = [one.name for kind in (self.streams, self.tables, self.views) for one in kind.values() if one]
        names = ", ".join(sorted(known))
        return QueryError(
            "unknown-stream",
            f"there is no stream, table or view `{source.name}`",
            at=source.place,
            because=nearest(source.name, known),
            help=f"declared are {names}" if names else "declare it with CREATE STREAM",
        )
