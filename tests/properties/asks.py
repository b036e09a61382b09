"""Queries over several sources, said once and read twice: as SQL text here, in `meant` as relations.

Expressions are written as in SQL, the columns of source 0 as `x0.k`, those of source 1 as `x1.k`. The sources
of EXISTS are numbered on from those of the query around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from weft.lang.bodies import Emission, JoinKind, SetKind

SECOND = 1_000_000


@dataclass(frozen=True)
class Over:
    """A stream with a window over it; `range` None: unbounded."""

    stream: str
    range: int | None
    internal: bool = False


@dataclass(frozen=True)
class Looked:
    """A table."""

    table: str
    retroactive: bool = False


@dataclass(frozen=True)
class Sub:
    """A subquery, or the view of that name; with `range` there is a window over what it gives."""

    body: Body
    range: int | None = None
    view: str | None = None


From = Over | Looked | Sub


@dataclass(frozen=True)
class Beside:
    """A source joined to those before it."""

    source: From
    on: str | None = None
    kind: JoinKind = JoinKind.INNER


@dataclass(frozen=True)
class Also:
    """`[NOT] EXISTS (SELECT * FROM source WHERE on)`."""

    source: From
    on: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class Pick:
    """A SELECT; with keys or calls it is grouped, and they are its items."""

    source: From
    beside: tuple[Beside, ...] = ()
    where: str | None = None
    also: tuple[Also, ...] = ()
    items: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()  # function and argument; that of `count_star` is empty
    having: str | None = None  # over c0, c1, ..., the keys and calls
    distinct: bool = False
    slide: int | None = None
    order: tuple[str, ...] = ()  # of items c0, c1, ..., each now and then with DESC
    limit: int | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        return self.items or (*self.keys, *(_call(*call) for call in self.calls))


@dataclass(frozen=True)
class Both:
    kind: SetKind
    all: bool
    left: Body
    right: Body


Body = Pick | Both


@dataclass(frozen=True)
class Asked:
    body: Body
    emission: Emission = Emission.LIVES
    lasting: int | None = None  # the window of WSTREAM


def text(asked: Asked) -> str:
    """The query as SQL."""
    early = " EMIT CHANGES" if asked.emission is Emission.CHANGES else ""
    return _text(asked.body, asked) + early


def views(body: Body) -> dict[str, Body]:
    """The views that a query reads, those that others rest on first."""
    if isinstance(body, Both):
        return views(body.left) | views(body.right)
    found: dict[str, Body] = {}
    for source in (body.source, *(one.source for one in (*body.beside, *body.also))):
        if isinstance(source, Sub):
            found |= views(source.body) | ({} if source.view is None else {source.view: source.body})
    return found


def body_text(body: Body) -> str:
    return _text(body)


def slide_of(body: Body) -> int | None:
    return body.slide if isinstance(body, Pick) else slide_of(body.left)


def interval(micros: int) -> str:
    for size, name in ((SECOND, "SECONDS"), (1_000, "MILLISECONDS")):
        if micros % size == 0:
            return f"{micros // size} {name}"
    return f"{micros} MICROSECONDS"


def _text(body: Body, asked: Asked | None = None) -> str:
    if isinstance(body, Both):
        word = f"{body.kind.upper()}{' ALL' if body.all else ''}"
        return f"({_text(body.left)}) {word} ({_text(body.right)})"
    items = ", ".join(f"{item} AS c{number}" for number, item in enumerate(body.shown))
    items = _told(f"DISTINCT {items}" if body.distinct else items, asked)
    sources = _from(body.source, 0, body.slide)
    for number, beside in enumerate(body.beside, 1):
        on = "" if beside.on is None else f" ON {beside.on}"
        word = "CROSS" if beside.on is None else beside.kind.upper()
        sources += f" {word} JOIN {_from(beside.source, number, body.slide)}{on}"
    made = f"SELECT {items} FROM {sources}"
    made += _where(body)
    made += f" GROUP BY {', '.join(body.keys)}" if body.keys else ""
    made += f" HAVING {_spelled(body)}" if body.having else ""
    made += f" ORDER BY {', '.join(body.order)}" if body.order else ""
    return made + ("" if body.limit is None else f" LIMIT {body.limit}")


def _told(items: str, asked: Asked | None) -> str:
    if asked is None or asked.emission in (Emission.LIVES, Emission.CHANGES):
        return items
    window = "" if asked.lasting is None else f" [RANGE {interval(asked.lasting)}]"
    return f"{asked.emission.upper()}({items}){window}"


def _where(body: Pick) -> str:
    parts = [] if body.where is None else [f"({body.where})"]
    for number, also in enumerate(body.also, 1 + len(body.beside)):
        on = "" if also.on is None else f" WHERE {also.on}"
        inner = f"SELECT * FROM {_from(also.source, number, body.slide)}{on}"
        parts.append(f"{'NOT ' if also.negated else ''}EXISTS ({inner})")
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _from(source: From, number: int, slide: int | None) -> str:
    match source:
        case Over(stream=stream, range=range_, internal=internal):
            return f"{stream} {_window(range_, slide, internal)} x{number}"
        case Looked(table=table, retroactive=retroactive):
            return f"{table} {'RETROACTIVE' if retroactive else 'NONRETROACTIVE'} x{number}"
        case Sub(body=body, range=range_, view=view):
            said = f"({_text(body)})" if view is None else view
            return f"{said}{'' if range_ is None else ' ' + _window(range_, slide)} x{number}"


def _window(range_: int | None, slide: int | None, internal: bool = False) -> str:
    parts = [f"RANGE {'UNBOUNDED' if range_ is None else interval(range_)}"]
    parts += [] if slide is None else [f"SLIDE {interval(slide)}"]
    return f"[{' '.join([*parts, *(['INTERNAL'] * internal)])}]"


def _call(function: str, arg: str) -> str:
    return "COUNT(*)" if function == "count_star" else f"{function.upper()}({arg})"


def _spelled(body: Pick) -> str:
    """HAVING with the aggregates themselves, as SQL wants them."""
    return re.sub(r"\bc(\d+)\b", lambda found: body.shown[int(found[1])], body.having or "")
