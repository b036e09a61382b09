"""Queries over several sources, said once and read twice: as SQL text, and as the relation that it means.

Expressions are written as in SQL, the columns of source 0 as `x0.k`, those of source 1 as `x1.k`. The sources
of EXISTS are numbered on from those of the query around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr
from weft.plan.aggregates import result_type
from weft.plan.nodes import Aggregation, Named, Program
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import below, columns, rewrite_up
from weft.plan.types import infer

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
    """A subquery; with `range` there is a window over what it gives."""

    body: Body
    range: int | None = None


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


def text(asked: Asked) -> str:
    """The query as SQL."""
    early = " EMIT CHANGES" if asked.emission is Emission.CHANGES else ""
    return _text(asked.body, asked.emission) + early


def related(asked: Asked, program: Program) -> Emitted:
    """The query as the relation that it means."""
    source = _relation(asked.body, program)
    if slide_of(asked.body) is None:
        return Emitted(source, asked.emission)
    range_ = longest(source)
    return Emitted(rewrite_up(source, lambda node: _lengthened(node, range_)), Emission.RSTREAM)


def _lengthened(node: Relation, range_: int) -> Relation:
    """All windows of an answer are as long as the longest, so that two sides have the same."""
    return replace(node, range=range_) if isinstance(node, AsOf) else node


def slide_of(body: Body) -> int | None:
    return body.slide if isinstance(body, Pick) else slide_of(body.left)


def interval(micros: int) -> str:
    for size, name in ((SECOND, "SECONDS"), (1_000, "MILLISECONDS")):
        if micros % size == 0:
            return f"{micros // size} {name}"
    return f"{micros} MICROSECONDS"


def _text(body: Body, emission: Emission = Emission.LIVES) -> str:
    if isinstance(body, Both):
        word = f"{body.kind.upper()}{' ALL' if body.all else ''}"
        return f"({_text(body.left)}) {word} ({_text(body.right)})"
    items = ", ".join(f"{item} AS c{number}" for number, item in enumerate(body.shown))
    if emission in (Emission.ISTREAM, Emission.DSTREAM):
        items = f"{emission.upper()}({items})"
    sources = _from(body.source, 0, body.slide)
    for number, beside in enumerate(body.beside, 1):
        on = "" if beside.on is None else f" ON {beside.on}"
        word = "CROSS" if beside.on is None else beside.kind.upper()
        sources += f" {word} JOIN {_from(beside.source, number, body.slide)}{on}"
    made = f"SELECT {'DISTINCT ' if body.distinct else ''}{items} FROM {sources}"
    made += _where(body)
    made += f" GROUP BY {', '.join(body.keys)}" if body.keys else ""
    return made + (f" HAVING {_spelled(body)}" if body.having else "")


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
        case Looked(table=table):
            return f"{table} x{number}"
        case Sub(body=body, range=None):
            return f"({_text(body)}) x{number}"
        case Sub(body=body, range=range_):
            return f"({_text(body)}) {_window(range_, slide)} x{number}"


def _window(range_: int | None, slide: int | None, internal: bool = False) -> str:
    parts = [f"RANGE {'UNBOUNDED' if range_ is None else interval(range_)}"]
    parts += [] if slide is None else [f"SLIDE {interval(slide)}"]
    return f"[{' '.join([*parts, *(['INTERNAL'] * internal)])}]"


def _call(function: str, arg: str) -> str:
    return "COUNT(*)" if function == "count_star" else f"{function.upper()}({arg})"


def _spelled(body: Pick) -> str:
    """HAVING with the aggregates themselves, as SQL wants them."""
    return re.sub(r"\bc(\d+)\b", lambda found: body.shown[int(found[1])], body.having or "")


def _relation(body: Body, program: Program) -> Relation:
    if isinstance(body, Both):
        return Merged(body.kind, body.all, _relation(body.left, program), _relation(body.right, program))
    made = _source(body.source, 0, program)
    for number, beside in enumerate(body.beside, 1):
        made = Paired(beside.kind, made, _source(beside.source, number, program), _maybe(beside.on))
    made = made if body.where is None else Kept(made, _expr(body.where))
    for number, also in enumerate(body.also, 1 + len(body.beside)):
        made = Whether(made, _source(also.source, number, program), _maybe(also.on), also.negated)
    if body.slide is not None:
        made = AsOf(made, body.slide, 0, longest(made))
    made = _shown(body, made)
    return Distinct(made) if body.distinct else made


def _shown(body: Pick, made: Relation) -> Relation:
    window = [_named("window_start", "window_start", made), _named("window_end", "window_end", made)]
    if not (body.keys or body.calls):
        items = [_named(f"c{number}", item, made) for number, item in enumerate(body.items)]
        return Made(made, (*(window if body.slide else ()), *items))
    keys = tuple(_named(f"_k{number}", key, made) for number, key in enumerate(body.keys))
    calls = tuple(_aggregation(f"_a{number}", *call, made) for number, call in enumerate(body.calls))
    made = Grouped(made, keys, calls)
    names = [*(key.name for key in keys), *(call.name for call in calls)]
    if body.having is not None:
        having = re.sub(r"\bc(\d+)\b", lambda found: names[int(found[1])], body.having)
        made = Kept(made, _expr(having))
    items = [_named(f"c{number}", name, made) for number, name in enumerate(names)]
    return Made(made, (*(window if body.slide else ()), *items))


def longest(relation: Relation) -> int:
    """The longest window of the relation; what is below a window over a result does not count."""
    match relation:
        case Rows(range=range_) | Lasting(range=range_):
            return range_ or 0
        case _:
            return max((longest(each) for each in below(relation)), default=0)


def _source(source: From, number: int, program: Program) -> Relation:
    match source:
        case Over(stream=stream, range=range_, internal=internal):
            items = _renamed([(one.name, one.type) for one in program.stream(stream).columns], number)
            return Rows(stream, items, None, range_, internal)
        case Looked(table=table, retroactive=retroactive):
            known = next(one for one in program.tables if one.name == table)
            items = _renamed([(one.name, one.type) for one in known.columns], number)
            return Entries(table, items, None, retroactive)
        case Sub(body=body, range=range_):
            inner = _relation(body, program)
            inner = inner if range_ is None else Lasting(inner, range_)
            return Made(inner, _renamed([(one.name, one.type) for one in columns(inner)], number))


def _renamed(known: Sequence[tuple[str, str | None]], number: int) -> tuple[Named, ...]:
    return tuple(Named(f"_s{number}_{name}", _expr(name), type) for name, type in known)


def _named(name: str, sql: str, over: Relation) -> Named:
    made = _expr(sql)
    return Named(name, made, infer(made.tree, {one.name: one.type for one in columns(over)}))


def _aggregation(name: str, function: str, arg: str, over: Relation) -> Aggregation:
    args = () if function == "count_star" else (_named("", arg, over),)
    types = tuple(one.type for one in args)
    exprs = tuple(one.expr for one in args)
    return Aggregation(name, function, exprs, arg_types=types, type=result_type(function, types))


def _maybe(sql: str | None) -> Expr | None:
    return None if sql is None else _expr(sql)


def _expr(sql: str) -> Expr:
    return parse_expression(re.sub(r"\bx(\d+)\.(\w+)", r"_s\1_\2", sql))
