"""Golab (2006), chapter 3: V1 to V12, V15, V19 to V22 of the dossier, those of time-based windows.

Where the thesis counts rows (V8, ROWS 5) rows come one a second and the window is RANGE 5.
"""

from __future__ import annotations

from tests.examples.relations.example import Example, Row, join, over, spread
from tests.properties.asks import SECOND, Also, Asked, Beside, Both, Looked, Pick, Sub
from weft.lang.bodies import SetKind
from weft.plan.relationpatterns import Pattern

A, B, C = ("a",), ("b",), ("c",)
_V3 = {"s1": [(2, "a"), (5, "c"), (11, "c")], "s2": [(3, "c"), (6, "a")]}
_PAIRS = join(over("s1", 10), over("s2", 10))
_V7 = {"s1": [(1, "a"), (7, "a"), (9, "b")], "s2": [(2, "a"), (10, "b")]}
_QUOTES = {"s1": [(1, "SUN"), (3, "IBM"), (6, "SUN")]}
_VERSIONS = [("IBM", 0, 4), ("SUN", 2, None)]
_SUMMED = {"s1": [(at, "x", n) for at, n in enumerate([3, 1, 4, 1, 5, 9, 2], 1)]}


def _values(stream: str, seconds: int) -> Pick:
    return Pick(over(stream, seconds), items=("x0.v",))


def _of_all(function: str, seconds: int | None, internal: bool = False) -> Asked:
    inner = Pick(over("s1", seconds, internal), items=("x0.n",))
    return Asked(Pick(Sub(inner), calls=((function, "x0.c0"),)))


def _looked(retroactive: bool) -> Asked:
    table = Beside(Looked("t", retroactive), "x0.v = x1.v")
    return Asked(Pick(over("s1", 10), (table,), items=("x0.v", "x0.n")))


def _numbers(*values: int) -> list[Row]:
    return [(value,) for value in values]


WINDOWS = [
    Example(
        "V1 a window holds a row for its range",
        Asked(_values("s1", 5)),
        {"s1": [(1, "a")]},
        pattern=Pattern.WEAKEST,
        as_of=spread((0, 0, []), (1, 5, [A]), (6, 6, [])),
        lives=[(1, 6, A)],
    ),
    Example(
        "V2 selection changes no life",
        Asked(Pick(over("s1", 5), where="x0.v = 'a'", items=("x0.v", "x0.n"))),
        {"s1": [(1, "a"), (2, "b"), (4, "a"), (7, "c")]},
        pattern=Pattern.WEAKEST,
        as_of=spread((1, 3, [("a", 1)]), (4, 5, [("a", 1), ("a", 4)]), (6, 8, [("a", 4)]), (9, 9, [])),
        lives=[(1, 6, ("a", 1)), (4, 9, ("a", 4))],
    ),
    Example(
        "V3 pairs leave in another order than they came",
        Asked(_PAIRS),
        _V3,
        pattern=Pattern.WEAK,
        as_of=spread(
            (5, 5, [(5, 3)]),
            (6, 10, [(5, 3), (2, 6)]),
            (11, 11, [(5, 3), (2, 6), (11, 3)]),
            (12, 12, [(5, 3), (11, 3)]),
            (13, 13, []),
        ),
        lives=[(5, 13, (5, 3)), (6, 12, (2, 6)), (11, 13, (11, 3))],
    ),
    Example(
        "V15 three pairs come and three go",
        Asked(_PAIRS),
        _V3,
        begun=[(5, (5, 3)), (6, (2, 6)), (11, (11, 3))],
        ended=[(12, (2, 6)), (13, (5, 3)), (13, (11, 3))],
    ),
    Example(
        "V11 a window over what comes out",
        Asked(Pick(Sub(_PAIRS, 4 * SECOND), items=("x0.c0", "x0.c1"))),
        _V3,
        pattern=Pattern.WEAKEST,
        as_of=spread(
            (5, 5, [(5, 3)]),
            (6, 8, [(5, 3), (2, 6)]),
            (9, 9, [(2, 6)]),
            (10, 10, []),
            (11, 14, [(11, 3)]),
            (15, 15, []),
        ),
        lives=[(5, 9, (5, 3)), (6, 10, (2, 6)), (11, 15, (11, 3))],
    ),
    Example(
        "V11 a window over what comes out of internal ones",
        Asked(
            Pick(
                Sub(join(over("s1", 10, internal=True), over("s2", 10, internal=True)), 4 * SECOND),
                items=("x0.c0", "x0.c1"),
            )
        ),
        _V3,
        pattern=Pattern.WEAKEST,
        lives=[(5, 9, (5, 3)), (6, 10, (2, 6)), (11, 15, (11, 3))],
    ),
    Example(
        "V12 what lives between two slides is not answered",
        Asked(join(over("s1", 12), over("s2", 12), "x0.v = x1.v", "x0.v", slide=5 * SECOND)),
        {"s1": [(1, "a"), (1, "b")], "s2": [(4, "b"), (11, "a")]},
        windows=[(5, B), (10, B)],
    ),
    Example(
        "V22 one window is internal",
        Asked(join(over("s1", 10), over("s2", 10, internal=True))),
        {"s1": [(1, "a"), (5, "a")], "s2": [(2, "a"), (9, "a")]},
        pattern=Pattern.WEAK,
        lives=[(2, 11, (1, 2)), (5, 15, (5, 2)), (9, 11, (1, 9)), (9, 15, (5, 9))],
    ),
    Example(
        "V10 pairs of internal windows stay",
        Asked(
            Pick(
                over("s1", 5, internal=True),
                (
                    Beside(over("s2", 5, internal=True), "x0.v = x1.v"),
                    Beside(over("s3", 5, internal=True), "x1.v = x2.v"),
                ),
                items=("x0.n", "x1.n", "x2.n"),
            )
        ),
        {"s1": [(1, "a")], "s2": [(2, "a")], "s3": [(4, "a"), (9, "a")]},
        pattern=Pattern.MONOTONIC,
        lives=[(4, None, (1, 2, 4))],
        as_of=spread((3, 3, []), (4, 20, [(1, 2, 4)])),
    ),
]

ABSENCE = [
    Example(
        "V4 DISTINCT holds while any equal row does",
        Asked(Pick(over("s1", 10), items=("x0.v",), distinct=True)),
        {"s1": [(1, "a"), (2, "b"), (4, "a"), (6, "a"), (7, "b"), (9, "c")]},
        pattern=Pattern.WEAK,
        as_of=spread(
            (1, 1, [A]), (2, 8, [A, B]), (9, 15, [A, B, C]), (16, 16, [B, C]), (17, 18, [C]), (19, 19, [])
        ),
        begun=[(1, A), (2, B), (9, C)],
        ended=[(16, A), (17, B), (19, C)],
    ),
    Example(
        "V5 the equal row that lives longest goes on",
        Asked(
            Both(
                SetKind.UNION,
                False,
                Both(SetKind.UNION, True, _values("s1", 29), _values("s2", 48)),
                _values("s3", 37),
            )
        ),
        {"s1": [(1, "a")], "s2": [(2, "a")], "s3": [(3, "a")]},
        pattern=Pattern.WEAK,
        as_of=spread((0, 0, []), (1, 49, [A]), (50, 50, [])),
    ),
    Example(
        "V6 EXCEPT ALL takes away as many as there are",
        Asked(Both(SetKind.EXCEPT, True, _values("s1", 10), _values("s2", 10))),
        {"s1": [(1, "a"), (3, "a"), (6, "b")], "s2": [(5, "a"), (8, "b")]},
        pattern=Pattern.STRICT,
        as_of=spread((1, 2, [A]), (3, 4, [A, A]), (5, 5, [A]), (6, 7, [A, B]), (8, 10, [A]), (11, 18, [])),
        begun=[(1, A), (3, A), (6, B)],
        ended=[(5, A), (8, B), (11, A)],
    ),
    Example(
        "V7 EXCEPT ALL gives back what is no longer taken away",
        Asked(Both(SetKind.EXCEPT, True, _values("s1", 10), _values("s2", 6))),
        _V7,
        pattern=Pattern.STRICT,
        begun=[(1, A), (7, A), (8, A), (9, B), (16, B)],
        ended=[(2, A), (10, B), (11, A), (17, A), (19, B)],
    ),
    Example(
        "V7 NOT EXISTS gives back all at once",
        Asked(
            Pick(
                over("s1", 10),
                also=(Also(over("s2", 6), "x1.v = x0.v", negated=True),),
                items=("x0.v", "x0.n"),
            )
        ),
        _V7,
        pattern=Pattern.STRICT,
        begun=[(1, ("a", 1)), (8, ("a", 1)), (8, ("a", 7)), (9, ("b", 9)), (16, ("b", 9))],
        ended=[(2, ("a", 1)), (10, ("b", 9)), (11, ("a", 1)), (17, ("a", 7)), (19, ("b", 9))],
    ),
    Example(
        "V9 a table that is not retroactive is seen as it was when a row came",
        _looked(False),
        _QUOTES,
        _VERSIONS,
        pattern=Pattern.WEAKEST,
        lives=[(3, 13, ("IBM", 3)), (6, 16, ("SUN", 6))],
    ),
    Example(
        "V9 a retroactive table takes answers back and gives new ones",
        _looked(True),
        _QUOTES,
        _VERSIONS,
        pattern=Pattern.STRICT,
        begun=[(2, ("SUN", 1)), (3, ("IBM", 3)), (6, ("SUN", 6))],
        ended=[(4, ("IBM", 3)), (11, ("SUN", 1)), (16, ("SUN", 6))],
    ),
]

AMOUNTS = [
    Example(
        "V8 a sum over a window",
        _of_all("sum", 5),
        _SUMMED,
        pattern=Pattern.STRICT,
        as_of={at: _numbers(n) for at, n in enumerate([3, 4, 8, 9, 14, 20, 21], 1)},
    ),
    Example(
        "V8 a sum over all",
        _of_all("sum", None),
        _SUMMED,
        as_of={at: _numbers(n) for at, n in enumerate([3, 4, 8, 9, 14, 23, 25], 1)},
    ),
    Example(
        "V8 sums over all of an internal window stay",
        _of_all("sum", None, internal=True),
        _SUMMED,
        pattern=Pattern.MONOTONIC,
        as_of={7: _numbers(3, 4, 8, 9, 14, 23, 25)},
    ),
    Example(
        "V19 the greatest is the greatest until it leaves",
        _of_all("max", 60),
        {"s1": [(39, "x", 75), (50, "x", 73)]},
        as_of={39: _numbers(75), 98: _numbers(75), 99: _numbers(73), 109: _numbers(73), 110: []},
    ),
    Example(
        "V20 the greatest of six seconds",
        _of_all("max", 6),
        {"s1": [(1, "x", 75), (2, "x", 68), (3, "x", 73), (5, "x", 64), (6, "x", 61)]},
        as_of={5: _numbers(75), 6: _numbers(75), 7: _numbers(73)},
    ),
    Example(
        "V21 a sum of sums",
        Asked(
            Pick(
                Sub(Pick(over("s1", 6), calls=(("sum", "x0.n"),), slide=6 * SECOND), 60 * SECOND),
                calls=(("sum", "x0.c0"),),
                slide=6 * SECOND,
            )
        ),
        {"s1": [(6 * chunk, "x", chunk + 1) for chunk in range(12)]},
        windows=[(6 * chunk, (sum(range(max(chunk - 9, 1), min(chunk, 12) + 1)),)) for chunk in range(1, 22)],
    ),
]

EXAMPLES = [*WINDOWS, *ABSENCE, *AMOUNTS]
