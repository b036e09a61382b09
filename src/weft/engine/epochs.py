"""What a changed program means for a running one.

Every change makes a new epoch, effective at a batch boundary. A query that stays the same goes on; one that
is new starts with the first window that it can answer in full (`held`); one that changed under its name is a
new version with a dataset of its own; one that is gone ends, and its answers stay. A query that failed stays
out until its text changes. With a query its views change, and those of its tables that mean something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from weft.errors import RunError
from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.lang.statements import CreateQuery, CreateRelation, CreateStream
from weft.log.catalog import Catalog, NewQuery, QueryVersion
from weft.plan.nodes import Program, Query
from weft.plan.reads import reads
from weft.share.model.measured import Happened
from weft.share.predicates import Turn, Turns
from weft.times import Instant

Bound = Callable[[Query], Instant | None]
Whole = Callable[[Query], bool]
PicksBy = Mapping[str, tuple[str, ...]]  # by query

FAILED = "failed: "  # how the reason of an epoch that takes a failed query out of force begins
SWITCHED = "switched: "  # and of one that has queries pick by other columns,
SETTLED = "settled"  # and of one from which on they do so alone

SOURCE_OPTIONS = ("path", "subscribe", "subscribepattern", "assign", "name", "host", "port")


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be added, dropped and declared so that a program is in force."""

    add: tuple[NewQuery, ...]
    drop: tuple[str, ...]
    streams: Mapping[str, str]

    def __bool__(self) -> bool:
        return bool(self.add or self.drop or self.streams)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A program as it is to be in force: without queries that failed, and what was decided of the others."""

    program: Program
    picks_by: PicksBy
    turns: Turns  # of those that were switched while they ran: when, and what is left from before


class Texts:
    """The canonical texts of queries, each printed once however often it is asked for."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[CreateQuery | CreateRelation, str]] = {}

    def same(self, version: QueryVersion, query: Query, program: Program) -> bool:
        """Is this query of a program the one that a version is of?"""
        return version.text == self.of(query) and version.reads in (None, reads(query.statement, program))

    def of(self, query: Query) -> str:
        found = self._known.get(query.name)
        if found is None or found[0] is not query.statement:
            found = self._known[query.name] = query.statement, print_statement(query.statement)
        return found[1]


def change(
    catalog: Catalog,
    program: Program,
    texts: Texts,
    bound: Bound = lambda query: None,
    picks_by: PicksBy | None = None,
    whole: Whole = lambda query: False,
) -> Change:
    """From the program in force to this one.

    `bound`: after which time the windows of a new query start; `picks_by`: by which columns it picks groups;
    `whole`: does the log hold the rows before the bound that it needs?
    """
    for stream in program.streams:
        if stream.name in catalog.streams:
            _check_compatible(catalog.streams[stream.name], stream.statement)
    declared = {stream.name: print_statement(stream.statement) for stream in program.streams}
    stay, out = unchanged(catalog, program, texts), left_out(catalog, program, texts)
    return Change(
        add=tuple(
            NewQuery(
                query.name,
                texts.of(query),
                bound(query),
                (picks_by or {}).get(query.name, ()),
                whole(query),
                reads(query.statement, program),
            )
            for query in program.queries
            if query.name not in stay and query.name not in out
        ),
        drop=tuple(query.name for query in catalog.queries() if query.name not in stay),
        streams={name: text for name, text in declared.items() if catalog.streams.get(name) != text},
    )


def unchanged(catalog: Catalog, program: Program, texts: Texts) -> dict[str, QueryVersion]:
    """The queries of a program that are in force, as they are."""
    wanted = {query.name: query for query in program.queries}
    return {
        version.name: version
        for version in catalog.queries()
        if version.name in wanted and texts.same(version, wanted[version.name], program)
    }


def recorded(catalog: Catalog, program: Program, texts: Texts) -> Recorded:
    """What the catalog says of the queries of a program."""
    out, known = left_out(catalog, program, texts), unchanged(catalog, program, texts)
    return Recorded(
        replace(program, queries=tuple(query for query in program.queries if query.name not in out)),
        {name: version.picks_by for name, version in known.items()},
        {
            name: Turn(version.switched.at, version.switched.before)
            for name, version in known.items()
            if version.switched is not None
        },
    )


def switches(catalog: Catalog, most: int) -> tuple[Happened, ...]:
    """The last switches of running queries, no more than so many."""
    switched = [query.switched for query in catalog.queries() if query.switched is not None]
    turning = {each.epoch for each in switched if each.before is not None}
    made = [epoch for epoch in catalog.epochs if epoch.switched][-most:]
    return tuple(
        Happened(
            epoch.at,
            epoch.reason.removeprefix(SWITCHED),
            tuple(key.rpartition("@")[0] for key in epoch.switched),
            epoch.number not in turning,
        )
        for epoch in made
    )


def keys(catalog: Catalog, program: Program, texts: Texts) -> dict[str, str]:
    """The key that each query of `program` will have once it is in force."""
    new = {added.name for added in change(catalog, program, texts).add}
    return {
        query.name: f"{query.name}@{len(catalog.versions(query.name)) + (query.name in new)}"
        for query in program.queries
    }


def failures(catalog: Catalog) -> dict[str, str]:
    """The queries whose newest version was taken out of force because it failed, with the reason."""
    reasons = {epoch.number: epoch.reason for epoch in catalog.epochs}
    newest = {version.name: version for version in catalog.all_versions()}
    return {
        name: reasons[version.dropped].removeprefix(FAILED)
        for name, version in newest.items()
        if version.dropped is not None and reasons[version.dropped].startswith(FAILED)
    }


def left_out(catalog: Catalog, program: Program, texts: Texts) -> set[str]:
    """The queries of a program that were taken out of force because they failed, and are as they were."""
    known = failures(catalog)
    return {
        query.name
        for query in program.queries
        if query.name in known and texts.same(catalog.versions(query.name)[-1], query, program)
    }


def _check_compatible(stored: str, now: CreateStream) -> None:
    if stored == print_statement(now):
        return
    (before,) = parse_program(stored)
    assert isinstance(before, CreateStream)
    columns = {column.name: column for column in now.columns}
    for column in before.columns:
        if columns.get(column.name) != column:
            _refuse(now, f"column `{column.name}` was declared otherwise or is gone")
    if before.time_column != now.time_column:
        _refuse(now, f"its event time was `{before.time_column}`")
    if before.format != now.format or _source(before) != _source(now):
        _refuse(now, "it reads another source")


def _source(stream: CreateStream) -> dict[str, str]:
    return {name: value for name, value in stream.options if name.lower() in SOURCE_OPTIONS}


def _refuse(stream: CreateStream, because: str) -> None:
    raise RunError(
        "stream-changed",
        f"stream `{stream.name}` is not the one this home was started with: {because}",
        at=stream.place,
        help="use another --home for the changed stream, or declare it under another name",
    )
