"""What a relation holds as of given instants: every operator, instant by instant, in plain SQL.

    Rows        instants JOIN stream ON ts <= at AND at < ts + range
    the others  as SQL says, with `at` among the columns that are joined, grouped, compared

A bag is a stage with the columns AT, BORN, ENDS and those of the relation. BORN and ENDS tell the life of a
row where it has one of its own (`has_lives`); elsewhere they mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from weft.errors import Bug
from weft.lang.bodies import SetKind
from weft.plan.relationpatterns import has_lives, is_outlived
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
from weft.plan.relationtree import below, columns, reach_back, streams, walk
from weft.reference.ends import first_end, last_end
from weft.reference.groups import grouped, leading
from weft.reference.moves import begun, moves
from weft.reference.pairs import is_looked_up, paired, whether
from weft.reference.script import AT, BORN, ENDS, FROM, LIFE, NEVER, TO, UNTIL, Script
from weft.times import Duration


def bag(relation: Relation, instants: str, script: Script) -> str:
    """The stage of what is there as of each of the instants."""
    own = script.names(relation)
    match relation:
        case Rows():
            return _alive(script.rows(relation), UNTIL, own, instants, script)
        case Entries(retroactive=True):
            return _in_force(relation, instants, script)
        case Entries():
            raise Bug("odd-relation", f"`{relation.table}` can only be paired: it is not retroactive")
        case Lasting(source=source, range=range_):
            return _alive(_lasting(births(source, script), range_, own, script), ENDS, own, instants, script)
        case Kept(source=source, predicate=predicate):
            return script.kept(bag(source, instants, script), [*LIFE, *own], predicate, columns(source))
        case Made(source=source, items=items):
            return script.made(bag(source, instants, script), LIFE, items, columns(source))
        case Paired(left=left, right=right):
            ours, theirs = _side(left, right, instants, script), _side(right, left, instants, script)
            return paired(relation, ours, theirs, script)
        case Whether(source=source, other=other):
            ours, theirs = bag(source, instants, script), _side(other, source, instants, script)
            return whether(relation, ours, theirs, script)
        case Distinct(source=source):
            held = bag(source, instants, script)
            return script.anew(f"SELECT DISTINCT {', '.join([AT, *own])} FROM {held}", own)
        case Merged(left=left, right=right):
            return _merged(relation, bag(left, instants, script), bag(right, instants, script), script)
        case AsOf(source=source):
            return _as_of(relation, bag(source, instants, script), script)
        case Grouped(source=source):
            return grouped(relation, bag(source, instants, script), script)
        case Leading(source=source):
            return leading(relation, bag(source, instants, script), script)
        case Emitted():
            raise Bug("odd-relation", "what is told is no part of a relation")
        case _:
            assert_never(relation)


def births(relation: Relation, script: Script) -> str:
    """The stage of its rows as they begin to hold, with BORN and ENDS; of a window, at its last instant."""
    own = script.names(relation)
    every = instants_of(relation, script)
    held = bag(relation, every, script)
    if slides_of(relation) is None and has_lives(relation):
        return script.stage(f"SELECT {', '.join([BORN, ENDS, *own])} FROM {held} WHERE {BORN} = {AT}")
    rows = held if slides_of(relation) else begun(moves(held, every, own, script), script)
    return script.stage(f"SELECT {', '.join([f'{AT} AS {BORN}', f'{NEVER} AS {ENDS}', *own])} FROM {rows}")


def stayed(relation: Relation, instants: str | None, script: Script) -> tuple[str, str]:
    """The bags of what came out of internal windows, and the instants that they are bags as of."""
    if not has_lives(relation) and is_outlived(relation):
        raise Bug("odd-relation", "some windows are internal and others are not, where rows have no lives")
    rows, own = births(relation, script), script.names(relation)
    every = instants or script.spanned(
        script.stage(f"SELECT DISTINCT {AT} FROM ({' UNION ALL '.join(_ends_of(rows, BORN, ENDS))}) c")
    )
    return _alive(rows, ENDS, own, every, script), every


def slides_of(relation: Relation) -> AsOf | None:
    """The slides that it is answered for; None: it is answered as of every instant."""
    match relation:
        case AsOf():
            return relation
        case Lasting():
            return None
        case _:
            return next((found for each in below(relation) if (found := slides_of(each))), None)


def instants_of(relation: Relation, script: Script) -> str:
    """The stage of all instants at which it may change, or of the last ones of its windows."""
    window = slides_of(relation)
    changes = script.stage(f"SELECT DISTINCT {AT} FROM ({' UNION ALL '.join(_changes(relation, script))}) c")
    if window is None:
        return changes
    spans = " UNION ALL ".join(f"SELECT * FROM {_span(each, script)}" for each in _slid(relation))
    whole = script.stage(f"SELECT MIN(low) AS low, MAX(high) AS high FROM ({spans}) s")
    every = script.engine.exploded(whole, "low", "high", window.slide, AT)
    return script.stage(f"SELECT {AT} FROM {script.stage(every)}")


def _slid(relation: Relation) -> list[AsOf]:
    """All parts of it that are answered for slides, those of UNION and the like each by itself."""
    match relation:
        case AsOf():
            return [relation]
        case Lasting():
            return []
        case _:
            return [found for each in below(relation) for found in _slid(each)]


def _span(relation: AsOf, script: Script) -> str:
    """The stage of one row: the last instants of its first window and of its last, `low` and `high`."""
    low, high = _first_slide(relation, script), _last_slide(relation, script)
    return script.stage(f"SELECT CAST({low} AS BIGINT) - 1 AS low, CAST({high} AS BIGINT) - 1 AS high")


def _first_slide(relation: AsOf, script: Script) -> str:
    """The first after the first row; none that is told of, or was before it, lies before the span."""
    low = first_end(script.first_row(streams(relation)), relation)
    if script.span is None:
        return low
    return f"GREATEST({low}, {first_end(f'({script.span[0]} - {relation.slide})', relation)})"


def _last_slide(relation: AsOf, script: Script) -> str:
    """The first after all rows have left, but none after `upto`; what stays for ever is there up to then."""
    after = first_end(script.last_change(relation.source), relation)
    if script.upto is None:
        return after
    before = last_end(str(script.upto), relation)
    return before if _stays(relation) else f"LEAST({after}, {before})"


def _stays(relation: Relation) -> bool:
    """May some of it be there for ever: the rows of a window without end, or what a table holds?"""
    revised = any(isinstance(node, Entries) and node.retroactive for node in walk(relation))
    return revised or reach_back(relation) is None


def _changes(relation: Relation, script: Script) -> list[str]:
    """SELECTs of the instants at which a row begins or ends."""
    match relation:
        case Rows():
            return _ends_of(script.rows(relation), BORN, UNTIL)
        case Entries(retroactive=True):
            return _ends_of(script.versions(relation), FROM, TO)
        case Entries():
            return []
        case Lasting(source=source, range=range_):
            own = script.names(relation)
            return _ends_of(_lasting(births(source, script), range_, own, script), BORN, ENDS)
        case _:
            return [change for each in below(relation) for change in _changes(each, script)]


def _ends_of(rows: str, first: str, last: str) -> list[str]:
    return [
        f"SELECT {first} AS {AT} FROM {rows}",
        f"SELECT {last} AS {AT} FROM {rows} WHERE {last} < {NEVER}",
    ]


def _lasting(born: str, range_: Duration | None, own: Sequence[str], script: Script) -> str:
    ends = NEVER if range_ is None else f"{BORN} + {range_}"
    return script.stage(f"SELECT {', '.join([BORN, f'{ends} AS {ENDS}', *own])} FROM {born}")


def _alive(rows: str, until: str, own: Sequence[str], instants: str, script: Script) -> str:
    shown = ", ".join([f"i.{AT}", *(f"r.{name}" for name in [BORN, ENDS, *own])])
    during = f"r.{BORN} <= i.{AT} AND i.{AT} < r.{until}"
    return script.stage(f"SELECT {shown} FROM {instants} i JOIN {rows} r ON {during}")


def _in_force(relation: Entries, instants: str, script: Script) -> str:
    rows, own = script.versions(relation), script.names(relation)
    life = f"{FROM} AS {BORN}, COALESCE({TO}, {NEVER}) AS {ENDS}"
    rows = script.stage(f"SELECT {', '.join([life, *own])} FROM {rows}")
    return _alive(rows, ENDS, own, instants, script)


def _side(relation: Relation, partner: Relation, instants: str, script: Script) -> str:
    """One side of a pair: its bag, or all that the table ever held of which each row sees its own part."""
    if not is_looked_up(relation):
        return bag(relation, instants, script)
    if not has_lives(partner):
        raise Bug("odd-relation", f"`{relation.table}` is not retroactive, and its partners have no lives")
    return script.versions(relation)


def _merged(relation: Merged, left: str, right: str, script: Script) -> str:
    own = script.names(relation)
    renamed = [f"{theirs} AS {ours}" for theirs, ours in zip(script.names(relation.right), own)]
    lives = relation.kind is SetKind.UNION and relation.all
    first, second = ([*LIFE, *own], [*LIFE, *renamed]) if lives else ([AT, *own], [AT, *renamed])
    word = f"{relation.kind.upper()}{' ALL' if relation.all else ''}"
    sql = f"SELECT {', '.join(first)} FROM {left} {word} SELECT {', '.join(second)} FROM {right}"
    return script.stage(sql) if lives else script.anew(sql, own)


def _as_of(relation: AsOf, source: str, script: Script) -> str:
    start, end = window_of(relation, script)
    shown = [*LIFE, f"{start} AS window_start", f"{end} AS window_end", *script.names(relation.source)]
    within = f"{AT} BETWEEN s.low AND s.high"
    return script.stage(
        f"SELECT {', '.join(shown)} FROM {source} JOIN {_span(relation, script)} s ON {within}"
    )


def window_of(relation: AsOf, script: Script) -> tuple[str, str]:
    """Start and end of the window whose last instant is AT."""
    instant = script.engine.instant
    return instant(f"{AT} + 1 - {relation.range}"), instant(f"{AT} + 1")
