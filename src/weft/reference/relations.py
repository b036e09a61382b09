"""The meaning of a relation, by brute force: plain SQL over the whole histories of its streams and tables.

    instants_sql   every instant at which anything changes
    bag_sql        what is there as of each of them: `at` and its columns
    relation_sql   what is told of it, from the differences of the bags as of neighbouring instants
    changed_sql    these differences themselves, between two instants

A stream is a table named like it, with all its columns. A table's history is one named like it that has all
rows it ever had, each in force as of the instants of [`_weft_from`, `_weft_to`), microseconds; the latter is
null if it still is. A table that is made of changes has no other history than its stream's, in which rows lie
in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from weft.errors import Bug
from weft.lang.bodies import Emission
from weft.plan.nodes import Stream, Table
from weft.plan.relationpatterns import Pattern, has_lives, is_inside, relation_pattern
from weft.plan.relations import AsOf, Emitted, Grouped, Made, Relation
from weft.plan.relationtree import WINDOW, below, is_windowed
from weft.reference.bags import bag, births, instants_of, slides_of, stayed, window_of
from weft.reference.meaning import DIALECTS, DialectName
from weft.reference.moves import OVER, WEIGHT, begun, ended, lives, moves
from weft.reference.script import AT, BORN, ENDS, NEVER, Script
from weft.times import Instant

_WINDOW = tuple(column.name for column in WINDOW)


def bag_sql(
    relation: Relation,
    streams: Sequence[Stream],
    *,
    dialect: DialectName,
    instants: Sequence[Instant] | None = None,
    tables: Sequence[Table] = (),
    upto: Instant | None = None,
    after: Mapping[str, Instant] | None = None,
) -> str:
    """`at`, in microseconds, and the rows that are there then, for all `instants` before `upto`.

    None: every one at which the relation may change, or for windows the last one of each. Of the streams in
    `after` only the rows later than it says are seen.
    """
    script = _script(streams, tables, dialect, upto, after)
    source = _source(relation)
    asked = None
    if instants is not None:
        each = [f"SELECT CAST({at} AS BIGINT) AS {AT}" for at in instants]
        asked = script.stage(" UNION ALL ".join(each) or f"SELECT CAST(NULL AS BIGINT) AS {AT}")
    held, _ = _held(source, asked, script)
    return script.select(
        f"SELECT {', '.join([f'{AT} AS at', *script.names(source)])} FROM {held}{_final(script)}"
    )


def instants_sql(
    relation: Relation,
    streams: Sequence[Stream],
    *,
    dialect: DialectName,
    tables: Sequence[Table] = (),
    upto: Instant | None = None,
    after: Mapping[str, Instant] | None = None,
) -> str:
    """`at`, in microseconds: the instants that `bag_sql` tells of when it is given none."""
    script = _script(streams, tables, dialect, upto, after)
    _, every = _held(_source(relation), None, script)
    return script.select(f"SELECT {AT} AS at FROM {every}{_final(script)}")


def relation_sql(
    relation: Emitted,
    streams: Sequence[Stream],
    *,
    dialect: DialectName,
    tables: Sequence[Table] = (),
    upto: Instant | None = None,
    after: Mapping[str, Instant] | None = None,
) -> str:
    """What is told of the relation at instants before `upto`, which a watermark there makes final.

    A life is told as far as the rows that are there know it, so the rows up to `upto` alone should be.
    """
    script = _script(streams, tables, dialect, upto, after)
    if tells_lives(relation):
        return _lives_sql(relation.source, script)
    held, every = _held(relation.source, None, script)
    if relation.emission is Emission.RSTREAM:
        names = ", ".join(script.names(relation.source))
        return script.select(f"SELECT {names} FROM {held}{_final(script)}")
    window = _window_columns(relation.source, script)
    own = [name for name in script.names(relation.source) if name not in window]
    changed = moves(held, every, own, script)
    time, rows = _told(relation, changed, own, script)
    time = [] if is_windowed(relation.source) else time  # the window says it
    shown = [window.get(name, name) for name in script.names(relation.source)]
    return script.select(f"SELECT {', '.join([*time, *shown])} FROM {rows}{_final(script)}")


def changed_sql(
    relation: Emitted,
    streams: Sequence[Stream],
    *,
    dialect: DialectName,
    span: tuple[Instant, Instant],
    tables: Sequence[Table] = (),
    upto: Instant | None = None,
    after: Mapping[str, Instant] | None = None,
    late: str | None = None,
    first: Mapping[str, Instant] | None = None,
) -> str:
    """`at`, in microseconds, `weight` and the columns: of what there is more, or less, than just before.

    At the instants of `span`, the second excluded; of RSTREAM all that is there. The rows that are given must
    be all that are there at one of them, or at the last one before, but need be no others; `first` says when
    the first of each stream came, if it is not among them. Where `tells_lives` it is the rows that begin
    then, and in place of `weight` there is when they end, `ends`.
    """
    script = replace(_script(streams, tables, dialect, upto, after), span=span, late=late, first=first)
    names = script.names(relation.source)
    within = f"WHERE {AT} >= {span[0]} AND {AT} < {span[1]}"
    if tells_lives(relation):
        return _born_sql(relation.source, within, script)
    held, every = _held(relation.source, None, script)
    if relation.emission is Emission.RSTREAM:
        return script.select(
            f"SELECT {', '.join([f'{AT} AS at', '1 AS weight', *names])} FROM {held} {within}"
        )
    window = _window_columns(relation.source, script)
    changed = moves(held, every, [name for name in names if name not in window], script)
    shown = [f"{AT} AS at", f"{WEIGHT} AS weight", *(window.get(name, name) for name in names)]
    return script.select(f"SELECT {', '.join(shown)} FROM {changed} {within}")


def tells_lives(relation: Emitted) -> bool:
    """Is each row told with a life of its own?"""
    return relation.emission in (Emission.LIVES, Emission.WSTREAM) and has_lives(relation.source)


def _born_sql(source: Relation, within: str, script: Script) -> str:
    every = script.stage(f"SELECT {AT} FROM {instants_of(source, script)} {within}")
    shown = [f"{AT} AS at", f"NULLIF({ENDS}, {NEVER}) AS ends", *script.names(source)]
    return script.select(f"SELECT {', '.join(shown)} FROM {bag(source, every, script)} WHERE {BORN} = {AT}")


def _lives_sql(source: Relation, script: Script) -> str:
    """Rows that have lives of their own are told with them."""
    instant = script.engine.instant
    life = [f"{instant(BORN)} AS valid_from", f"{instant(f'NULLIF({ENDS}, {NEVER})')} AS valid_to"]
    born = script.stage(f"SELECT *, {BORN} AS {AT} FROM {births(source, script)}")
    return script.select(f"SELECT {', '.join([*life, *script.names(source)])} FROM {born}{_final(script)}")


def _told(relation: Emitted, changed: str, own: Sequence[str], script: Script) -> tuple[list[str], str]:
    """The columns of time, and the stage of the rows they are told with."""
    at = script.engine.instant(AT)
    nothing = script.engine.instant("CAST(NULL AS BIGINT)")
    match relation.emission:
        case Emission.LIVES | Emission.WSTREAM if relation_pattern(relation) is Pattern.STRICT:
            return [f"{at} AS valid_from", f"{nothing} AS valid_to"], begun(changed, script)
        case Emission.LIVES | Emission.WSTREAM:
            over = script.engine.instant(OVER)
            return [f"{at} AS valid_from", f"{over} AS valid_to"], lives(changed, own, script)
        case Emission.ISTREAM:
            return [f"{at} AS valid_from"], begun(changed, script)
        case Emission.DSTREAM:
            return [f"{at} AS valid_to"], ended(changed, script)
        case Emission.CHANGES:
            sign = f"CASE WHEN {WEIGHT} > 0 THEN '+' ELSE '-' END AS change"
            every = script.stage(
                f"SELECT * FROM {begun(changed, script)} UNION ALL SELECT * FROM {ended(changed, script)}"
            )
            return [sign, f"{at} AS changed_at"], every
        case Emission.RSTREAM:
            raise Bug("odd-relation", "RSTREAM tells bags, not their differences")
        case _:
            assert_never(relation.emission)


def _script(
    streams: Sequence[Stream],
    tables: Sequence[Table],
    dialect: DialectName,
    upto: Instant | None,
    after: Mapping[str, Instant] | None,
) -> Script:
    return Script(
        DIALECTS[dialect],
        {stream.name: stream for stream in streams},
        {table.name: table for table in tables},
        upto,
        after or {},
    )


def _source(relation: Relation) -> Relation:
    return relation.source if isinstance(relation, Emitted) else relation


def _held(source: Relation, instants: str | None, script: Script) -> tuple[str, str]:
    """The bags that are told of, and the instants that they are bags as of."""
    if is_inside(source):
        return stayed(source, instants, script)
    every = instants or script.spanned(instants_of(source, script))
    return bag(source, every, script), every


def _window_columns(source: Relation, script: Script) -> dict[str, str]:
    """The columns that say of which window a row is, as SQL over AT: they make no difference to the next."""
    window = slides_of(source)
    if window is None:
        return {}
    sql = dict(zip(_WINDOW, window_of(window, script)))
    quote = script.engine.quote
    return {quote(name): f"{sql[of]} AS {quote(name)}" for name, of in _told_by(source).items()}


def _told_by(source: Relation) -> dict[str, str]:
    """The columns that are `window_start` or `window_end`, whatever they are called."""
    match source:
        case AsOf() | Grouped(source=AsOf()):
            return dict(zip(_WINDOW, _WINDOW))
        case Made(source=inner, items=items):
            known = _told_by(inner)
            return {item.name: known[item.expr.sql] for item in items if item.expr.sql in known}
        case _:
            sources = below(source)
            return _told_by(sources[0]) if sources else {}


def _final(script: Script) -> str:
    return "" if script.upto is None else f" WHERE {AT} < {script.upto}"
