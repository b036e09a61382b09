"""What a relation holds as of one instant, a row at a time and without SQL: it is there to judge the SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Any

from tests.properties.plainbags import first, grouped, key_of, made_of, meets, merged, paired, passes, renamed
from tests.properties.plainvalues import Row, is_true
from tests.properties.relations import Scenario, truth
from tests.properties.relationtables import histories as versions_of
from tests.properties.relationtruth import DuckTruth
from weft.lang.bodies import JoinKind, SetKind
from weft.plan.lookups import Lookup, lookup
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import below, streams, walk, windows
from weft.reference.bags import slides_of
from weft.testing.compare import difference
from weft.testing.values import micros
from weft.times import show_instant

TIME = "at"  # the event time of every stream, in microseconds


@dataclass(frozen=True)
class Life:
    """A row: when it begins, until when it is in its windows, and when what comes of it is to end."""

    begin: int
    until: float
    end: float
    row: Row

    def beside(self, other: Life) -> Life:
        ends = min(self.until, other.until), min(self.end, other.end)
        return Life(max(self.begin, other.begin), *ends, self.row | other.row)


@dataclass(frozen=True)
class History:
    """All rows of the streams, event times in microseconds, and all that tables ever held, and when."""

    streams: Mapping[str, Sequence[Row]]
    tables: Mapping[str, Sequence[tuple[int, float, Row]]] = field(default_factory=dict)

    def entries(self, leaf: Entries, at: int) -> list[Row]:
        """What is in force as of then."""
        some = [row for begin, end, row in self.tables[leaf.table] if begin <= at < end]
        return [made_of(leaf.items, row) for row in some if leaf.where is None or is_true(leaf.where, row)]


def disagreements(made: Scenario) -> dict[str, str]:
    """The queries of which the SQL of the reference says something else, each with the first difference."""
    known, history = truth(made), histories(made)
    found = {name: _disagreement(relation, known, history) for name, relation in made.relations.items()}
    return {name: text for name, text in found.items() if text}


def _disagreement(relation: Emitted, known: DuckTruth, history: History) -> str:
    asked = None if slides_of(relation) else instants(relation, history)
    for at, bag in known.bags(relation, asked).items():
        rows = [key_of(row) for row in told_as_of(relation, history, at)]
        said = [tuple(micros(one) if isinstance(one, datetime) else one for one in row) for row in bag]
        wrong = difference(rows, said)
        if wrong:
            return f"as of {show_instant(at)}: {wrong}"
    return ""


def histories(made: Scenario) -> History:
    found: dict[str, list[Row]] = {stream.name: [] for stream in made.streams.streams}
    for name, rows in made.feeds:
        if name in found:
            found[name] += [{**row, TIME: micros(row[TIME])} for row in rows.to_pylist()]
    tables = {
        name: [
            (each.begin, inf if each.end is None else each.end, row)
            for each in versions
            for row in each.rows.to_pylist()
        ]
        for name, versions in versions_of(made.read).items()
    }
    return History(found, tables)


def told_as_of(relation: Emitted, history: History, at: int) -> list[Row]:
    """What has come out by `at` and is still there: what came out of internal windows stays."""
    if not any(isinstance(each, Rows) and each.internal for each in windows(relation.source)):
        return as_of(relation.source, history, at)
    own = lives(relation.source, history)
    if own is None:
        return [row for begin, row in begun(relation.source, history) if begin <= at]
    return [life.row for life in own if life.begin <= at < life.end]


def as_of(relation: Relation, history: History, at: int) -> list[Row]:
    """The rows that are there as of `at`."""

    def rows(source: Relation) -> list[Row]:
        return as_of(source, history, at)

    if lookup(relation) is not None:
        return [life.row for life in lives(relation, history) or () if life.begin <= at < life.until]
    match relation:
        case Rows():
            return [life.row for life in lives(relation, history) or () if life.begin <= at < life.until]
        case Entries():
            return history.entries(relation, at)
        case Kept(source=source, predicate=predicate):
            return [row for row in rows(source) if is_true(predicate, row)]
        case Made(source=source, items=items):
            return [made_of(items, row) for row in rows(source)]
        case Paired(left=left, right=right):
            return paired(relation, rows(left), rows(right))
        case Whether(source=source, other=other):
            others = rows(other)
            return [row for row in rows(source) if passes(relation, row, others)]
        case Distinct(source=source):
            return list({key_of(row): row for row in rows(source)}.values())
        case Merged(left=left, right=right):
            return merged(relation, rows(left), renamed(relation, rows(right)))
        case AsOf(source=source, range=range_):
            seen = rows(source) if at in _slides(relation, history) else []
            return [{"window_start": at + 1 - range_, "window_end": at + 1, **row} for row in seen]
        case Grouped(source=source):
            return grouped(relation, rows(source))
        case Leading(source=source):
            return first(relation, rows(source))
        case Lasting(source=source, range=range_):
            return [row for begin, row in begun(source, history) if begin <= at < _later(begin, range_)]
        case _:
            raise NotImplementedError(relation)


def begun(relation: Relation, history: History) -> list[tuple[int, Row]]:
    """Its rows with when they begin to hold: their own lives where they have any, else as they come up.

    Of what is answered as of each slide, all rows of every answer.
    """
    own = lives(relation, history)
    if own is not None:
        return [(life.begin, row) for life in own for row in [life.row]]
    window = slides_of(relation)
    if window is not None:
        every = sorted({at for each in slid(relation) for at in _slides(each, history)})
        return [(at, row) for at in every for row in as_of(relation, history, at)]
    before: Counter[tuple[Any, ...]] = Counter()
    made = []
    for at in instants(relation, history):
        rows = {key_of(row): row for row in as_of(relation, history, at)}
        now = Counter(key_of(row) for row in as_of(relation, history, at))
        made += [(at, rows[key]) for key in (now - before).elements()]
        before = now
    return made


def slid(relation: Relation) -> list[AsOf]:
    """What of it is answered for slides."""
    match relation:
        case AsOf():
            return [relation]
        case Lasting():
            return []
        case _:
            return [found for each in below(relation) for found in slid(each)]


def _slides(window: AsOf, history: History) -> range:
    """The last instants of the windows from the first row up to the first after all have left."""
    came = [row[TIME] for stream in streams(window) for row in history.streams[stream]]
    if not came:
        return range(0)
    first, last = (
        at - (at - window.offset) % window.slide + window.slide
        for at in (min(came), max(left(window.source, history)))
    )
    return range(first - 1, last, window.slide)


def left(relation: Relation, history: History) -> list[int]:
    """When each row that came has left all windows that it may be in, at the latest."""
    below_ = [at for each in below(relation) for at in left(each, history)]
    match relation:
        case Rows(stream=stream, range=range_):
            return [row[TIME] + (range_ or 0) for row in history.streams[stream]]
        case Lasting(range=range_):
            return [at + (range_ or 0) for at in below_]
        case AsOf(slide=slide):
            return [at + slide for at in below_]
        case _:
            return below_


def lives(relation: Relation, history: History) -> list[Life] | None:
    """Each row with its life; None where rows have none of their own."""
    if (found := lookup(relation)) is not None:
        return _looked_up(relation, found, history)
    match relation:
        case Rows(stream=stream, items=items, range=range_, internal=internal):
            some = [row for row in history.streams[stream] if _is_wanted(relation, row)]
            made = [(row[TIME], _later(row[TIME], range_), made_of(items, row)) for row in some]
            return [Life(begin, until, inf if internal else until, row) for begin, until, row in made]
        case Lasting(source=source, range=range_):
            ends = [(begin, _later(begin, range_), row) for begin, row in begun(source, history)]
            return [Life(begin, end, end, row) for begin, end, row in ends]
        case Kept(source=source, predicate=predicate):
            below = lives(source, history)
            return below and [life for life in below if is_true(predicate, life.row)]
        case Made(source=source, items=items):
            below = lives(source, history)
            return below and [replace(life, row=made_of(items, life.row)) for life in below]
        case Paired(kind=JoinKind.INNER, left=left, right=right):
            ours, theirs = lives(left, history), lives(right, history)
            if ours is None or theirs is None:
                return None
            pairs = [one.beside(other) for one in ours for other in theirs]
            return [life for life in pairs if life.begin < life.until and meets(relation, life.row)]
        case Merged(kind=SetKind.UNION, all=True, left=left, right=right):
            ours, theirs = lives(left, history), lives(right, history)
            if ours is None or theirs is None:
                return None
            named = renamed(relation, [life.row for life in theirs])
            return ours + [replace(life, row=row) for life, row in zip(theirs, named)]
        case _:
            return None


def _looked_up(relation: Relation, found: Lookup, history: History) -> list[Life] | None:
    """Each row as it begins, with what the table says then."""
    below = lives(found.rows, history)
    if below is None:
        return None
    made: list[Life] = []
    for life in below:
        others = history.entries(found.entries, life.begin)
        match relation:
            case Whether():
                made += [life] if passes(relation, life.row, others) else []
            case Paired(left=left):
                sides = (others, [life.row]) if left is found.entries else ([life.row], others)
                made += [replace(life, row=row) for row in paired(relation, *sides)]
    return made


def instants(relation: Relation, history: History) -> list[int]:
    """All instants at which it may change."""
    found: set[int] = set()
    for node in walk(relation):
        match node:
            case Rows(stream=stream, range=range_):
                found.update(row[TIME] for row in history.streams[stream])
                found.update(row[TIME] + range_ for row in history.streams[stream] if range_ is not None)
            case Entries(table=table, retroactive=True):
                found.update(at for life in history.tables[table] for at in life[:2] if at != inf)
            case Lasting(source=source, range=range_):
                begins = [begin for begin, _ in begun(source, history)]
                found.update(begins)
                found.update(begin + range_ for begin in begins if range_ is not None)
    return sorted(found)


def _later(begin: int, range_: int | None) -> float:
    return inf if range_ is None else begin + range_


def _is_wanted(leaf: Rows, row: Row) -> bool:
    return leaf.where is None or is_true(leaf.where, row)
