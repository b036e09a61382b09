"""Random queries over several windows, of types that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.properties.asks import Also, Asked, Beside, Body, Both, From, Over, Pick, Sub, slide_of
from tests.properties.rows import Pace
from weft.lang.bodies import Emission, JoinKind, SetKind

Column = tuple[str, str]  # as it is written, `x0.k`, and its type

STREAM = (("k", "string"), ("v", "int"), ("w", "bigint"))
_KINDS = (JoinKind.INNER,) * 5 + (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
_CALLS = ("count_star", "count", "sum", "min", "max")


@dataclass(frozen=True)
class Sizes:
    """What part of the queries has what."""

    sources: tuple[int, ...] = (1, 2, 2, 2, 3)
    slide: float = 0.2
    set_operation: float = 0.3
    absence: float = 0.35
    grouped: float = 0.25
    distinct: float = 0.2
    subquery: float = 0.15
    unbounded: float = 0.04
    outer: float = 1.0  # of the joins that may be


def query(rng: Random, at: Pace, streams: Sequence[str], sizes: Sizes) -> Asked:
    """One query, and what is to be told of it."""
    slide = at.unit * rng.choice([1, 2, 3, 5]) if rng.random() < sizes.slide else None
    maker = _Maker(rng, at, streams, sizes, slide is not None)
    body = maker.body(slide)
    plain = isinstance(body, Pick) and not body.distinct and slide_of(body) is None
    emission = rng.choice([Emission.LIVES] * 3 + [Emission.ISTREAM, Emission.DSTREAM])
    return Asked(body, emission if plain else Emission.LIVES)


@dataclass(frozen=True)
class _Maker:
    rng: Random
    at: Pace
    streams: Sequence[str]
    sizes: Sizes
    slides: bool  # then all windows have a length, those over subqueries too

    def body(self, slide: int | None) -> Body:
        if not self.maybe(self.sizes.set_operation):
            return self.pick(slide)
        types = [self.rng.choice(["string", "int", "bigint"]) for _ in range(self.rng.choice([1, 1, 2]))]
        left, right = (self.pick(slide, types, sources=(1, 1, 1, 2)) for _ in range(2))
        return Both(self.rng.choice(list(SetKind)), self.maybe(0.5), left, right)

    def pick(
        self,
        slide: int | None,
        types: Sequence[str] | None = None,
        sources: Sequence[int] = (),
        inner: bool = False,
    ) -> Pick:
        """A SELECT; its items have these types, if they are given."""
        first, known = self.source(0, inner)
        beside = []
        for number in range(1, self.rng.choice(sources or self.sizes.sources)):
            source, more = self.source(number, inner)
            kind = self.rng.choice(_KINDS) if self.maybe(self.sizes.outer) else JoinKind.INNER
            on = None if kind is JoinKind.INNER and self.maybe(0.05) else self.match(known, more)
            beside.append(Beside(source, on, kind))
            known += more
        also = self.absence(known, 1 + len(beside)) if self.maybe(self.sizes.absence) else ()
        where = self.condition(known) if self.maybe(0.3) else None
        several = beside or also or isinstance(first, Sub)  # else it is no relation, but a windowed aggregate
        if types is None and several and self.maybe(self.sizes.grouped) and not inner:
            return self.grouped(Pick(first, tuple(beside), where, also, slide=slide), known)
        items = self.items(known, types)
        distinct = self.maybe(self.sizes.distinct)
        return Pick(first, tuple(beside), where, also, items, distinct=distinct, slide=slide)

    def source(self, number: int, inner: bool) -> tuple[From, list[Column]]:
        if inner or not self.maybe(self.sizes.subquery):
            return self.over(), [(f"x{number}.{name}", type) for name, type in STREAM]
        types = [self.rng.choice(["string", "int"]) for _ in range(2)]
        body = self.pick(None, types, (1, 1, 2), inner=True)
        range_ = self.range() if self.slides or self.maybe(0.4) else None
        return Sub(body, range_), [(f"x{number}.c{i}", type) for i, type in enumerate(types)]

    def over(self) -> Over:
        unbounded = not self.slides and self.maybe(self.sizes.unbounded)
        return Over(self.rng.choice(self.streams), None if unbounded else self.range())

    def range(self) -> int:
        odd = self.rng.randint(1, self.at.unit) if self.maybe(0.1) else 0
        return self.at.unit * self.rng.choice([1, 2, 3, 4, 6, 8, 12]) + odd

    def absence(self, known: Sequence[Column], number: int) -> tuple[Also, ...]:
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
        keys = tuple(self.rng.sample([name for name, _ in known], self.rng.choice([0, 1, 1, 2])))
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
