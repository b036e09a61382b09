"""Random queries over several windows, of types that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.properties.asks import (
    Also,
    Asked,
    Beside,
    Body,
    Both,
    From,
    Looked,
    Over,
    Pick,
    Sub,
    slide_of,
)
from tests.properties.relationsizes import Inside, Sizes
from tests.properties.relationtables import TABLE, TABLES
from tests.properties.rows import Pace
from weft.lang.bodies import Emission, JoinKind, SetKind

Column = tuple[str, str]  # as it is written, `x0.k`, and its type

STREAM = (("k", "string"), ("v", "int"), ("w", "bigint"))
_KINDS = (JoinKind.INNER,) * 5 + (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
_LOOKING = (JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT)
_CALLS = ("count_star", "count", "sum", "min", "max")


@dataclass(frozen=True)
class View:
    name: str
    body: Pick
    types: tuple[str, ...]
    calm: bool


def query(rng: Random, at: Pace, streams: Sequence[str], sizes: Sizes, views: Sequence[View] = ()) -> Asked:
    """One query, and what is to be told of it."""
    slide = at.unit * rng.choice([1, 2, 3, 5]) if rng.random() < sizes.slide else None
    inside = rng.choice(list(Inside)[1:]) if _some(rng, sizes.internal) else Inside.NONE
    lasting = slide is None and inside is Inside.NONE and _some(rng, sizes.wstream)
    calm = lasting or inside is not Inside.NONE
    maker = _Maker(rng, at, streams, sizes, slide is not None, views, calm, inside)
    body = maker.body(slide, merged=not lasting)
    if lasting:
        return Asked(body, Emission.WSTREAM, maker.range())
    return _told(rng, body, sizes)


def views(rng: Random, at: Pace, streams: Sequence[str], sizes: Sizes) -> tuple[View, ...]:
    """Two views: of the one rows do not depend on others."""
    return tuple(_view(rng, at, streams, sizes, calm) for calm in (True, False)) if sizes.view else ()


def _view(rng: Random, at: Pace, streams: Sequence[str], sizes: Sizes, calm: bool) -> View:
    maker = _Maker(rng, at, streams, sizes, False, (), calm)
    types = tuple(rng.choice(["string", "int"]) for _ in range(2))
    return View("calm" if calm else "wild", maker.pick(None, types, (1, 1, 2), inner=True), types, calm)


def _told(rng: Random, body: Body, sizes: Sizes) -> Asked:
    slides = slide_of(body) is not None
    if not slides and _some(rng, sizes.changes):
        return Asked(body, Emission.CHANGES)
    plain = isinstance(body, Pick) and not body.distinct and not slides
    emission = rng.choice([Emission.LIVES] * 3 + [Emission.ISTREAM, Emission.DSTREAM])
    if isinstance(body, Pick) and not plain:
        plain = _some(rng, sizes.output)
    return Asked(body, emission if plain else Emission.LIVES)


def _some(rng: Random, part: float) -> bool:
    """As often as said; nothing is drawn for what is never asked for."""
    return part > 0 and rng.random() < part


def has_lives(source: From) -> bool:
    """Does each of its rows have a life of its own?"""
    match source:
        case Over():
            return True
        case Sub(range=None, body=Pick() as body):
            return not (body.distinct or body.keys or body.calls) and _lives(body)
        case Sub(range=range_):
            return range_ is not None
        case _:
            return False


def _lives(body: Pick) -> bool:
    return (
        has_lives(body.source)
        and all(_is_looked_up(one.source) or _is_plain(one) for one in body.beside)
        and all(_is_looked_up(one.source) for one in body.also)
    )


def _is_plain(one: Beside) -> bool:
    return one.kind is JoinKind.INNER and has_lives(one.source)


def _is_looked_up(source: From) -> bool:
    return isinstance(source, Looked) and not source.retroactive


@dataclass(frozen=True)
class _Maker:
    rng: Random
    at: Pace
    streams: Sequence[str]
    sizes: Sizes
    slides: bool  # then all windows have a length, those over subqueries too
    views: Sequence[View] = ()
    calm: bool = False  # nothing in which rows depend on others, aggregates apart
    inside: Inside = Inside.NONE

    def body(self, slide: int | None, merged: bool = True) -> Body:
        if not self.maybe(self.sizes.set_operation) or not merged:
            return self.pick(slide)
        types = [self.rng.choice(["string", "int", "bigint"]) for _ in range(self.rng.choice([1, 1, 2]))]
        left, right = (self.pick(slide, types, sources=(1, 1, 1, 2)) for _ in range(2))
        if self.calm:
            return Both(SetKind.UNION, True, left, right)
        if not self.slides and _some(self.rng, self.sizes.table):
            right = self.of_table(types)
        return Both(self.rng.choice(list(SetKind)), self.maybe(0.5), left, right)

    def of_table(self, types: Sequence[str]) -> Pick:
        """The entries of a table by themselves."""
        known = [(f"x0.{name}", type) for name, type in TABLE]
        return Pick(Looked(self.rng.choice(TABLES), retroactive=True), items=self.items(known, types))

    def pick(
        self,
        slide: int | None,
        types: Sequence[str] | None = None,
        sources: Sequence[int] = (),
        inner: bool = False,
    ) -> Pick:
        """A SELECT; its items have these types, if they are given."""
        first, known = self.source(0, inner)
        beside: list[Beside] = []
        for number in range(1, self.rng.choice(sources or self.sizes.sources)):
            one, more = self.beside(Pick(first, tuple(beside)), known, number, inner)
            beside.append(one)
            known += more
        made = Pick(first, tuple(beside), slide=slide)
        also = self.absence(made, known) if self.maybe(self.sizes.absence) and not self.calm else ()
        where = self.condition(known) if self.maybe(0.3) else None
        made = replace(made, where=where, also=also)
        alone = isinstance(first, Over) or (isinstance(first, Sub) and first.view is not None)
        several = beside or also or not alone  # else it is no relation, but a windowed aggregate
        grouped = self.slides or self.inside is not Inside.SOME
        if types is None and several and self.maybe(self.sizes.grouped) and not inner and grouped:
            return self.first(self.grouped(made, known))
        items = self.items(known, types)
        distinct = self.maybe(self.sizes.distinct) and not self.calm
        return self.first(replace(made, items=items, distinct=distinct))

    def beside(
        self, made: Pick, known: Sequence[Column], number: int, inner: bool
    ) -> tuple[Beside, list[Column]]:
        """One source more: now and then a table, where rows can look it up."""
        if _lives(made) and _some(self.rng, self.sizes.table):
            return self.table(known, number, inner)
        source, more = self.source(number, inner)
        outer = self.maybe(self.sizes.outer) and not self.calm
        kind = self.rng.choice(_KINDS) if outer else JoinKind.INNER
        on = None if kind is JoinKind.INNER and self.maybe(0.05) else self.match(known, more)
        return Beside(source, on, kind), more

    def table(self, known: Sequence[Column], number: int, inner: bool) -> tuple[Beside, list[Column]]:
        source = Looked(self.rng.choice(TABLES), retroactive=self.maybe(0.4) and not self.calm)
        more = [(f"x{number}.{name}", type) for name, type in TABLE]
        alone = source.retroactive and not inner  # where entries may be without a partner
        kind = self.rng.choice(_KINDS if alone else _LOOKING)
        on = None if kind is JoinKind.INNER and self.maybe(0.05) else self.match(known, more)
        return Beside(source, on, kind), more

    def first(self, pick: Pick) -> Pick:
        """Only the first rows, where there is a slide to say as of when."""
        if pick.slide is None or not _some(self.rng, self.sizes.first):
            return pick
        places = self.rng.sample(
            range(len(pick.shown)), self.rng.choice([0, 1, 1, 2]) % (len(pick.shown) + 1)
        )
        order = tuple(f"c{place}{self.rng.choice(['', ' DESC'])}" for place in places)
        return replace(pick, order=order, limit=self.rng.choice([1, 2, 3]))

    def source(self, number: int, inner: bool) -> tuple[From, list[Column]]:
        if inner or not self.maybe(self.sizes.subquery):
            return self.over(inner), [(f"x{number}.{name}", type) for name, type in STREAM]
        beside = (
            self.inside in (Inside.ALL, Inside.SOME) and not self.slides
        )  # they go with none over results
        if not beside and _some(self.rng, self.sizes.values):
            return self.values(number)
        found = self.view()
        types = found.types if found else [self.rng.choice(["string", "int"]) for _ in range(2)]
        body = found.body if found else self.pick(None, types, (1, 1, 2), inner=True)
        bare = number > 0 and self.slides and _some(self.rng, self.sizes.bare)  # the first says SLIDE
        lasting = (self.slides and not bare) or self.maybe(0.4)
        range_ = self.range() if self.lasts(lasting) else None
        source = Sub(body, range_, found.name if found else None)
        return source, [(f"x{number}.c{i}", type) for i, type in enumerate(types)]

    def lasts(self, drawn: bool) -> bool:
        """Has a subquery a window over it? Beside INTERNAL windows it has none, if nothing slides."""
        match self.inside:
            case Inside.NONE:
                return drawn
            case Inside.ALL | Inside.SOME:
                return drawn and self.slides
            case Inside.BELOW:
                return True

    def view(self) -> View | None:
        fitting = [view for view in self.views if view.calm or not self.calm]
        if self.inside is not Inside.NONE or not fitting or not _some(self.rng, self.sizes.view):
            return None
        return self.rng.choice(fitting)

    def values(self, number: int) -> tuple[From, list[Column]]:
        """A window over what groups amount to, each time that they are told."""
        told = self.inside is Inside.BELOW and self.maybe(0.5)
        slide = None if told else self.at.unit * self.rng.choice([1, 2, 3])
        known = [(f"x0.{name}", type) for name, type in STREAM]
        below = replace(self, sizes=replace(self.sizes, first=0.0), slides=slide is not None)
        pick = below.grouped(Pick(below.over(True), slide=slide), known)
        types = [dict(known)[key] for key in pick.keys] + [_type(*call, dict(known)) for call in pick.calls]
        columns = [(f"x{number}.c{i}", type) for i, type in enumerate(types)]
        return Sub(pick, self.range()), columns

    def over(self, inner: bool) -> Over:
        unbounded = not self.slides and self.maybe(self.sizes.unbounded)
        match self.inside:
            case Inside.NONE | Inside.ALL:
                internal = self.inside is Inside.ALL
            case Inside.BELOW:
                internal = inner
            case Inside.SOME:
                internal = self.maybe(0.5)
        return Over(self.rng.choice(self.streams), None if unbounded else self.range(), internal)

    def range(self) -> int:
        odd = self.rng.randint(1, self.at.unit) if self.maybe(0.1) else 0
        return self.at.unit * self.rng.choice([1, 2, 3, 4, 6, 8, 12]) + odd

    def absence(self, made: Pick, known: Sequence[Column]) -> tuple[Also, ...]:
        number = 1 + len(made.beside)
        if _lives(made) and _some(self.rng, self.sizes.table):
            source: From = Looked(self.rng.choice(TABLES), retroactive=self.maybe(0.4))
            more = [(f"x{number}.{name}", type) for name, type in TABLE]
        else:
            source, more = self.source(number, inner=True)
        on = self.match(known, more) if self.maybe(0.9) else None
        return (Also(source, on, negated=self.maybe(0.6)),)

    def match(self, known: Sequence[Column], more: Sequence[Column]) -> str:
        """A condition between sources: mostly equality, now and then something else beside it or instead."""
        pairs = [
            (one, other)
            for one, type in known
            for other, kind in more
            if (type == "string") == (kind == "string")
        ]
        if not pairs:
            return f"{known[0][0]} IS NOT NULL"
        ours, theirs = self.rng.choice(pairs)
        equal = f"{ours} {'<=>' if self.maybe(0.08) else '='} {theirs}"
        one, other = self.rng.choice(pairs)
        return self.rng.choice([equal, equal, equal, f"{equal} AND {one} <> {other}", f"{one} < {other}"])

    def condition(self, known: Sequence[Column]) -> str:
        made = []
        for _ in range(self.rng.choice([1, 1, 2])):
            name, type = self.rng.choice(known)
            least = "'A'" if type == "string" else str(self.rng.choice([0, 1]))
            made.append(self.rng.choice([f"{name} >= {least}", f"{name} = {least}", f"{name} IS NULL"]))
        return self.rng.choice([" AND ", " OR "]).join(made)

    def items(self, known: Sequence[Column], types: Sequence[str] | None) -> tuple[str, ...]:
        wanted = types or [self.rng.choice(known)[1] for _ in range(self.rng.choice([1, 2, 2, 3]))]
        return tuple(self.item(known, type) for type in wanted)

    def item(self, known: Sequence[Column], type: str) -> str:
        fitting = [name for name, kind in known if kind == type]
        if not fitting:
            return {"string": "'none'", "int": "7", "bigint": "CAST(7 AS BIGINT)"}[type]
        if type == "int" and self.maybe(0.2):
            return f"{self.rng.choice(fitting)} + {self.rng.choice(fitting)}"
        return self.rng.choice(fitting)

    def grouped(self, pick: Pick, known: Sequence[Column]) -> Pick:
        count = min(self.rng.choice([0, 1, 1, 2]), len(known))
        keys = tuple(self.rng.sample([name for name, _ in known], count))
        numbers = [name for name, type in known if type != "string"]
        functions = [
            self.rng.choice(_CALLS if numbers else _CALLS[:1]) for _ in range(self.rng.choice([1, 2]))
        ]
        args = ["" if name == "count_star" else self.rng.choice(numbers) for name in functions]
        calls = tuple(dict.fromkeys(zip(functions, args)))  # equal ones are one in the plan
        having = f"c{len(keys)} > 0" if self.maybe(0.2) else None
        return replace(pick, keys=keys, calls=calls, having=having)

    def maybe(self, part: float) -> bool:
        return self.rng.random() < part


def _type(function: str, arg: str, known: dict[str, str]) -> str:
    """The type of a call."""
    return known[arg] if function in ("min", "max") else "bigint"
