"""What was told, and what is true, in the same terms: at an instant there is a row more, or one less.

The same bags can be cut into lives in several ways, and what was told early may have been taken back. So
events of equal rows at equal times are added up: what is left is the same if the bags are, as of all times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.lang.bodies import Emission
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relations import Emitted
from weft.plan.relationtree import is_windowed
from weft.reference.relations import tells_lives
from weft.reference.script import EVER
from weft.testing.compare import Row, alike, difference
from weft.testing.values import rows_of
from weft.times import Instant

Ints = npt.NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """When each row of the table begins to hold (+1), or ends (-1); `since`: when the life of it began.

    Where lives are not to be told apart, that is the instant itself.
    """

    table: pa.Table
    at: Ints
    weights: Ints
    since: Ints

    def __len__(self) -> int:
        return len(self.at)

    def during(self, first: Instant, last: Instant) -> Events:
        """Those of `[first, last)`."""
        return self.filter((self.since >= first) & (self.since < last))

    def filter(self, mine: npt.NDArray[np.bool_]) -> Events:
        table = self.table.filter(pa.array(mine))
        return Events(table, self.at[mine], self.weights[mine], self.since[mine])


def _single(table: pa.Table, at: Ints, weights: Ints | int) -> Events:
    """Events that are of no life."""
    return Events(table, at, np.full(len(at), weights) if isinstance(weights, int) else weights, at)


def told(relation: Emitted, answers: pa.Table) -> Events:
    """What the answers of a query say."""
    if is_windowed(relation.source):
        ends = _micros(answers, "window_end")
        weight = -1 if relation.emission is Emission.DSTREAM else 1
        return _single(answers, ends - 1, weight)
    match relation.emission:
        case Emission.CHANGES:
            signs = answers.column("change").to_pylist()
            weights = np.array([1 if sign == "+" else -1 for sign in signs], np.int64)
            return _single(_rest(answers, 2), _micros(answers, "changed_at"), weights)
        case Emission.DSTREAM:
            return _single(_rest(answers, 1), _micros(answers, "valid_to"), -1)
        case Emission.ISTREAM:
            return _single(_rest(answers, 1), _micros(answers, "valid_from"), 1)
        case _:
            return _lives(relation, answers)


def _lives(relation: Emitted, answers: pa.Table) -> Events:
    """Both ends of every life; where others decide how long a row lives, only that it begins is told."""
    rows, begins = _rest(answers, 2), _micros(answers, "valid_from")
    if relation_pattern(relation) is Pattern.STRICT:
        return _single(rows, begins, 1)
    found = _both_ends(rows, begins, answers.column("valid_to"), _micros(answers, "valid_to"))
    return found if tells_lives(relation) else _single(found.table, found.at, found.weights)


def _both_ends(rows: pa.Table, begins: Ints, told: pa.ChunkedArray, ends: Ints) -> Events:
    """That rows begin, and, where it is told, that they end."""
    ending = np.flatnonzero(told.is_valid().to_numpy())
    table = pa.concat_tables([rows, rows.take(pa.array(ending))])
    weights = np.repeat(np.array([1, -1]), [len(begins), len(ending)])
    return Events(
        table, np.concatenate([begins, ends[ending]]), weights, np.concatenate([begins, begins[ending]])
    )


def computed(relation: Emitted, found: pa.Table) -> Events:
    """What the reference says of it, of that which is told."""
    if tells_lives(relation):
        ends = found.column("ends").cast(pa.int64())
        return _both_ends(_rest(found, 2), _numbers(found, "at"), ends, ends.fill_null(0).to_numpy())
    every, sign = _events(found), _one_sided(relation)
    return every if sign == 0 else every.filter(every.weights * sign > 0)


def wrong(relation: Emitted, expected: pa.Table, found: Events) -> list[str]:
    """What is missing among the events that were told, and what is too much, by what was computed."""
    shown = not is_windowed(relation.source)
    right = _rows(computed(relation, expected), shown)
    said = _rows(found, shown)
    if not difference(right, said):
        return []
    right, said = _without_wavering(relation, expected, right, said, shown)
    return difference(right, said).splitlines()[1:]


def _without_wavering(
    relation: Emitted, expected: pa.Table, right: list[Row], said: list[Row], shown: bool
) -> tuple[list[Row], list[Row]]:
    """Both without a float that is another one in its last digits because it was added up anew.

    Such a row ends and begins at the same instant, about equal.
    """
    if tells_lives(relation) or not any(pa.types.is_floating(field.type) for field in expected.schema):
        return right, said
    every = _rows(_events(expected), True)
    ends = _by_exact(row[1:] for row in every if row[0] == "ends")
    begun = _by_exact(row[1:] for row in every if row[0] == "begins")
    wavering = [row for some in begun.values() for row in some if _has(ends, row)]
    wavering += [row for some in ends.values() for row in some if _has(begun, row)]
    known = _by_exact(row[0 if shown else 1 :] for row in wavering)
    behind = 1 if shown else 0
    return (
        [row for row in right if not _has(known, row[behind:])],
        [row for row in said if not _has(known, row[behind:])],
    )


def _by_exact(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by all that is no float."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_exact(row), []).append(row)
    return found


def _has(rows: Mapping[str, Sequence[Row]], row: Row) -> bool:
    return any(alike(row, one) for one in rows.get(_exact(row), ()))


def _exact(row: Row) -> str:
    return repr([value for value in row if not isinstance(value, float)])


def _one_sided(relation: Emitted) -> int:
    """Which events are told: those that begin, those that end (-1), or both (0)."""
    match relation.emission:
        case Emission.ISTREAM | Emission.RSTREAM:
            return 1
        case Emission.DSTREAM:
            return -1
        case Emission.LIVES | Emission.WSTREAM if relation_pattern(relation) is Pattern.STRICT:
            return 1
        case _:
            return 0


def _rows(events: Events, shown: bool) -> list[Row]:
    """Each event as a row: what happens, when, and to what; equal ones added up."""
    weights: Counter[str] = Counter()
    rows: dict[str, Row] = {}
    own = rows_of(events.table) if events.table.num_columns else [()] * len(events)
    for at, weight, row in zip(events.at.tolist(), events.weights.tolist(), own, strict=True):
        key = repr((at, row))
        rows[key] = (_time(at), *row)
        weights[key] += weight
    return [
        (("begins" if weight > 0 else "ends", *rows[key]) if shown else rows[key][1:])
        for key, weight in weights.items()
        for _ in range(abs(weight))
    ]


def _events(found: pa.Table) -> Events:
    """A table with `at` and `weight` before its columns."""
    return _single(_rest(found, 2), _numbers(found, "at"), _numbers(found, "weight"))


def _numbers(found: pa.Table, name: str) -> Ints:
    numbers: Ints = found.column(name).cast(pa.int64()).to_numpy()
    return numbers


def _micros(answers: pa.Table, name: str) -> Ints:
    """A column of times; null is what was always there."""
    times = answers.column(name).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).fill_null(EVER)
    found: Ints = times.to_numpy()
    return found


def _time(at: Instant) -> datetime | None:
    return None if at <= EVER else _EPOCH + timedelta(microseconds=at)


def _rest(table: pa.Table, first: int) -> pa.Table:
    return table.select(range(first, table.num_columns))
