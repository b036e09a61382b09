"""What was told of a relation, compared with what SQL says of all its rows, as of every instant.

known     ├──────── all rows that matter are kept ────────►
final     ───────────────────────────────────────┤ watermark
judged    [ piece )[ piece )[ piece )[ piece     )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.relations.evaluate import schema_of
from weft.log.catalog import QueryVersion
from weft.plan.relationpatterns import is_inside, is_outlived
from weft.plan.relations import AsOf, Emitted, Grouped
from weft.plan.relationtree import columns, last_end, reach_back, walk
from weft.reference import changed_sql
from weft.reference.meaning import DialectName
from weft.reference.relations import tells_lives
from weft.reference.script import EVER
from weft.times import BEGINNING, Duration, Instant, show_instant
from weft.verify.events import Events, told, wrong
from weft.verify.histories import APART, LATE, Histories, Rowed
from weft.verify.pieces import pieces
from weft.verify.runs import Run
from weft.verify.verification import Verification

LAST: Instant = 2**62  # after all that is ever told

Tell = Callable[[str], None]
Bools = npt.NDArray[np.bool_]


class Engine(Protocol):
    """Whoever carries out the SQL of the reference."""

    dialect: DialectName

    def put(self, name: str, rows: pa.Table) -> None:
        """Make these the rows of a table."""

    def run(self, sql: str) -> pa.Table: ...


@dataclass(frozen=True, slots=True)
class Part:
    """What was told from one drain up to the next, or up to now: of rows after `after` in some batches."""

    after: Instant
    first: Mapping[str, Instant]  # when the first row of each stream came, by the name of its history
    since: Mapping[str, int]  # the last batch of before, by stream
    upto: Mapping[str, int]  # the last batch
    tables: Mapping[str, int]  # the newest version, by table
    told: Mapping[str, int]  # the newest of before, by table: what it has was always there
    begins: Instant  # what was there before was told before
    drained: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """Which instants can be judged, and what cannot be, in words."""

    span: tuple[Instant, Instant]
    notes: tuple[str, ...]


def verify_relation(
    engine: Engine,
    query: str,
    version: QueryVersion,
    known: Histories,
    run: Run,
    answers: pa.Table,
    retain: Duration | None = None,
    tell: Tell = lambda _: None,
) -> Verification:
    """Compare the answers of a query with what its relation is as of every instant that can be judged."""
    relation = known.relation
    windows = len(answers.column("window_end").unique()) if "window_end" in answers.column_names else 0
    if approximate := _approximate(relation):
        note = f"{approximate} is approximate, and no SQL says what it is"
        return Verification(query, windows, len(answers), False, [], note)
    judged = _judged(known, version, run, retain)
    first, last = judged.span
    notes = "; ".join(judged.notes)
    if first >= last:
        note = f"{notes}, and what came later is not final yet" if notes else "nothing is final yet"
        return Verification(query, windows, len(answers), not len(answers), [], note)
    found = told(relation, answers.cast(schema_of(columns(relation))))
    differences = _differences(engine, known, _parts(version, run), found, judged.span, tell)
    return Verification(query, windows, len(answers), not differences, differences, notes)


def _differences(
    engine: Engine,
    known: Histories,
    parts: Sequence[Part],
    found: Events,
    span: tuple[Instant, Instant],
    tell: Tell,
) -> list[str]:
    relation = known.relation
    times = np.concatenate([np.empty(0, np.int64), *(each.times for each in known.streams)])
    cut = pieces(times, reach_back(relation), _slide(relation), span)
    differences: list[str] = []
    shown = None
    for number, piece in enumerate(cut):
        tell(f"{number} of {len(cut)} pieces of time compared")
        expected = []
        for part in _heard(known, parts, piece):
            if part is not shown:
                _put_tables(engine, known, part)
                shown = part
            expected.append(_expected(engine, known, part, piece))
        together = pa.concat_tables(expected, promote_options="permissive")
        differences += wrong(relation, together, found.during(*piece))
    return differences


def _put_tables(engine: Engine, known: Histories, part: Part) -> None:
    """What tables held, as far as a part knows."""
    for each in known.tables:
        name = each.table.name.removeprefix(APART)
        newest, told_before = part.tables.get(name, -1), part.told.get(name, -1)
        engine.put(each.table.name, each.entries(newest, told_before, part.after))


def _expected(engine: Engine, known: Histories, part: Part, piece: tuple[Instant, Instant]) -> pa.Table:
    """What is new at the instants of a piece, of a part."""
    relation, (first, last) = known.relation, piece
    is_last = part.drained
    for each in known.streams:
        is_last &= not (_of_part(each, part) & (each.times >= last)).any()
        engine.put(each.stream.name, each.rows.filter(pa.array(_there(relation, each, part, piece))))
    return engine.run(
        changed_sql(
            relation,
            [each.stream for each in known.streams],
            dialect=engine.dialect,
            span=(max(first, part.begins), last),
            tables=[each.table for each in known.tables],
            upto=None if is_last else last,
            after={each.stream.name: part.after for each in known.streams if part.after > BEGINNING},
            late=LATE,
            first=part.first,
        )
    )


def _heard(known: Histories, parts: Sequence[Part], piece: tuple[Instant, Instant]) -> Sequence[Part]:
    """The parts that have a row in a piece, or a table, which may be there without rows; at least one."""
    if known.tables:
        return parts
    found = [
        part
        for part in parts
        if any(_there(known.relation, each, part, piece).any() for each in known.streams)
    ]
    return found or parts[:1]


def _there(relation: Emitted, rows: Rowed, part: Part, piece: tuple[Instant, Instant]) -> Bools:
    """Which rows of a part may be there as of a piece, or the last instant before."""
    first, last = piece
    mine, since = _of_part(rows, part) & (rows.times < last), _needed_from(relation, first)
    return mine if since is None else mine & (rows.times >= since)


def _of_part(rows: Rowed, part: Part) -> Bools:
    name = rows.stream.name.removeprefix(APART)
    mine: Bools = (rows.batches > part.since.get(name, -1)) & (rows.batches <= part.upto.get(name, -1))
    return mine & (rows.times > part.after)


def _parts(version: QueryVersion, run: Run) -> list[Part]:
    """One from each drain to the next, and one from the last up to now."""
    bound = BEGINNING if version.bound is None else version.bound
    first = {APART + name: at for name, at in run.firsts.items()}
    now = Part(max(bound, run.forgotten), first, {}, run.positions, run.tables, {}, EVER, drained=False)
    found: list[Part] = []
    for drain in run.drains:
        after, begins = max(now.after, drain.at), EVER
        if drain.epoch >= version.added:
            found.append(replace(now, upto=drain.positions, tables=drain.tables, drained=True))
            begins = max(after + 1, drain.complete)
        now = replace(now, after=after, since=drain.positions, told=drain.tables, begins=begins)
    return found if run.is_drained and found else [*found, now]


def _judged(known: Histories, version: QueryVersion, run: Run, retain: Duration | None) -> Judged:
    """From when on all rows that matter are kept, up to when all is final."""
    relation, notes = known.relation, []
    names = [each.stream.name.removeprefix(APART) for each in known.streams]
    first, last = EVER, _final(version, run, names)
    if not known.whole:
        first = run.let_go(names) + _beyond(relation) + 1
        notes.append(f"rows that matter before {show_instant(first)} are no longer kept")
    if version.whole and version.bound is not None:
        reach = reach_back(relation)
        first = max(first, last if reach is None else version.bound + reach + 1)
        notes.append(f"before {show_instant(first)} it rests on rows from before it was added")
    if run.forgotten > BEGINNING and run.forgotten + last_end(relation) >= first:
        first = run.forgotten + last_end(relation) + 1
        notes.append(f"what was drained before {show_instant(first)} is not known any more")
    if retain is not None and (kept := _taken_in(known, run) - retain) > first:
        first = kept
        notes.append(f"answers from before {show_instant(first)} may have gone, by RETAIN")
    return Judged((first, last), tuple(notes))


def _final(version: QueryVersion, run: Run, streams: Sequence[str]) -> Instant:
    """Before when all is final that was told; nothing is before the first step that knew of the query."""
    if run.epoch < version.added:
        return EVER
    return LAST if run.is_drained else run.complete(streams)


def _taken_in(known: Histories, run: Run) -> Instant:
    """The watermark that sinks go by: of all rows taken in, also those that no step has seen."""
    streams = [each.stream.statement for each in known.streams]
    latest = [run.latest.get(each.name, BEGINNING) - each.delay for each in streams]
    return min(latest, default=BEGINNING)


def _beyond(relation: Emitted) -> Duration:
    """How long after rows were let go they may still be told of: of those not held, or a slide before."""
    told_once = is_outlived(relation.source) and not tells_lives(relation)
    return ((reach_back(relation) or 0) if told_once else 0) + (_slide(relation) or 0)


def _needed_from(relation: Emitted, first: Instant) -> Instant | None:
    """No row before this time is there at `first`, or at the last instant before; None: any may be."""
    reach = reach_back(relation)
    if reach is None:
        return None
    # What came out of an internal window may have done so as long before as an external one lasts.
    return first - 2 - (_slide(relation) or 0) - reach * (2 if is_inside(relation.source) else 1)


def _slide(relation: Emitted) -> Duration | None:
    return next((node.slide for node in walk(relation) if isinstance(node, AsOf)), None)


def _approximate(relation: Emitted) -> str:
    calls = [call for node in walk(relation) if isinstance(node, Grouped) for call in node.aggregations]
    return next((call.function for call in calls if call.function.startswith("approx")), "")
