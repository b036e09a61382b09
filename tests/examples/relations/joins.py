"""State-slice joins, E1 to E4 and E7, and Golab (2006), chapter 5, J-1 to J-4, of their dossiers.

What is about the insides of a chain, its costs, or windows that count rows is no matter of meaning.
"""

from __future__ import annotations

from tests.examples.relations.example import Example, Row, join, over
from tests.properties.asks import SECOND, Asked, Beside, Pick
from weft.plan.relationpatterns import Pattern

_E1 = {"s1": [(1, "a1", 10), (3, "a2", 50), (6, "a3", 20)], "s2": [(2, "b1"), (5, "b2"), (9, "b3")]}
_E2 = {"s1": [(1, "a1"), (2, "a2"), (3, "a3"), (8, "a4")], "s2": [(4, "b1"), (5, "b2")]}
_J1 = {
    "s1": [(1, "x"), (7, "y"), (13, "x")],
    "s2": [(2, "x"), (9, "y"), (11, "x"), (14, "y")],
}
_FIVE = [
    (2, ("a1", "b1")),
    (3, ("a2", "b1")),
    (5, ("a1", "b2")),
    (5, ("a2", "b2")),
    (6, ("a3", "b1")),
    (6, ("a3", "b2")),
    (9, ("a3", "b3")),
]
_INSTANT = 1e-6


def _pairs(ours: float, theirs: float, where: str | None = None) -> Asked:
    return Asked(join(over("s1", ours), over("s2", theirs), None, "x0.v", "x1.v", where=where))


def _marked(window: int, *pairs: tuple[int, int]) -> list[tuple[float, Row]]:
    return [(window, pair) for pair in pairs]


EXAMPLES = [
    Example(
        "E1 pairs at most two seconds apart",
        _pairs(2, 2),
        _E1,
        begun=[(2, ("a1", "b1")), (3, ("a2", "b1")), (6, ("a3", "b2"))],
    ),
    Example("E1 pairs at most five seconds apart", _pairs(5, 5), _E1, begun=_FIVE),
    Example(
        "E1 rows of the same instant are one pair",
        _pairs(2, 2),
        {"s1": [(4, "a")], "s2": [(4, "b")]},
        lives=[(4, 6, ("a", "b"))],
    ),
    Example(
        "E2, E3 rows that look back four seconds",
        _pairs(4, _INSTANT),
        _E2,
        begun=[(4, ("a1", "b1")), (4, ("a2", "b1")), (4, ("a3", "b1")), (5, ("a2", "b2")), (5, ("a3", "b2"))],
    ),
    Example("E2 rows that look back two seconds", _pairs(2, _INSTANT), _E2, begun=[(4, ("a3", "b1"))]),
    Example(
        "E4 a longer window for the rows that pass a filter",
        _pairs(5, 5, "x0.n > 15"),
        _E1,
        begun=[
            (3, ("a2", "b1")),
            (5, ("a2", "b2")),
            (6, ("a3", "b2")),
            (6, ("a3", "b1")),
            (9, ("a3", "b3")),
        ],
    ),
    Example("E7 a query that comes later has no earlier rows to pair", _pairs(2, 2), _E1, begun=[], after=6),
    Example(
        "J-1 pairs whose rows live at the same time",
        Asked(join(over("s1", 10), over("s2", 10))),
        _J1,
        pattern=Pattern.WEAK,
        # (p1, q3) is none: p1 leaves at the instant at which q3 comes.
        lives=[(2, 11, (1, 2)), (9, 17, (7, 9)), (13, 21, (13, 11)), (14, 17, (7, 14))],
    ),
    Example(
        "J-2 every five seconds",
        Asked(join(over("s1", 10), over("s2", 10), slide=5 * SECOND)),
        _J1,
        windows=[
            *_marked(5, (1, 2)),
            *_marked(10, (1, 2), (7, 9)),
            *_marked(15, (7, 9), (13, 11), (7, 14)),
            *_marked(20, (13, 11)),
        ],
    ),
    Example(
        "J-4 three rows that never live at the same time",
        Asked(
            Pick(
                over("s1", 10),
                (Beside(over("s2", 10), "x0.v = x1.v"), Beside(over("s3", 10), "x1.v = x2.v")),
                items=("x0.n",),
            )
        ),
        {"s1": [(13, "a")], "s2": [(11, "a")], "s3": [(1, "a")]},
        lives=[],
    ),
]
