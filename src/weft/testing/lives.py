"""Is what was told of a relation the same as what is to be told, as of every instant?

lives       rows there from `valid_from` up to `valid_to`: the same bags, however they are cut into lives
changes     the same weights of equal rows at equal times, added up
the others  the same rows, each with its time
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weft.lang.bodies import Emission
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relations import Emitted
from weft.testing.compare import Row, difference
from weft.testing.values import micros, show_row
from weft.times import Instant, show_instant

MOST = 3  # instants shown


def relation_difference(relation: Emitted, expected: Sequence[Row], told: Sequence[Row]) -> str:
    """What is missing and what is too much, and as of when; empty when the two say the same."""
    match relation.emission:
        case Emission.LIVES | Emission.WSTREAM if relation_pattern(relation) is Pattern.STRICT:
            return difference([_begun(row) for row in expected], [_begun(row) for row in told])
        case Emission.LIVES | Emission.WSTREAM:
            return lives_difference(expected, told)
        case Emission.CHANGES:
            return difference(_net(expected), _net(told))
        case _:
            return difference(expected, told)


def lives_difference(expected: Sequence[Row], told: Sequence[Row]) -> str:
    """Where rows with `valid_from, valid_to` before them are not the same bags."""
    empty = [row for row in told if row[1] is not None and row[1] <= row[0]]
    if empty:
        return f"{len(empty)} rows end before they begin: {show_row(empty[0])}"
    ends = {micros(end) for row in (*expected, *told) for end in row[:2] if end is not None}
    wrong = []
    for at in sorted(ends):
        found = difference(alive(expected, at), alive(told, at))
        wrong += [f"as of {show_instant(at)}: {found}"] if found else []
    more = [f"and as of {len(wrong) - MOST} more instants"] if len(wrong) > MOST else []
    return "\n".join([*wrong[:MOST], *more])


def alive(lives: Sequence[Row], at: Instant) -> list[Row]:
    """The rows that are there as of `at`, of those with `valid_from, valid_to` before them."""
    return [row[2:] for row in lives if micros(row[0]) <= at and (row[1] is None or at < micros(row[1]))]


def _begun(row: Row) -> Row:
    """`valid_from` and the columns: how long a row lives is not told where others decide."""
    return (row[0], *row[2:])


def _net(told: Sequence[Row]) -> list[Row]:
    """Changes of equal rows at equal times made one, or none where they cancel out."""
    weights: Counter[str] = Counter()
    rows: dict[str, Row] = {}
    for change, *rest in told:
        rows[repr(rest)] = tuple(rest)
        weights[repr(rest)] += 1 if change == "+" else -1
    return [
        ("+" if weight > 0 else "-", *rows[key])
        for key, weight in weights.items()
        for _ in range(abs(weight))
    ]
