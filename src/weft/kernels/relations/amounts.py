"""What the rows of groups amount to as of many instants: aggregates as Spark would give them.

Aggregates of the set or the distribution of values (COUNT DISTINCT and the approximate ones) are made of rows
that have one key more, as those of windows are made of feeds that have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.errors import Bug
from weft.kernels.arrow import arrow_type, valid_of
from weft.kernels.combine import Bools, Ints
from weft.kernels.distinct import approx_count_distinct, count_distinct, percentiles
from weft.kernels.finals import finish
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.asof import Aggregate, Stretches, aggregate


@dataclass(frozen=True, slots=True)
class Wanted:
    """One aggregate function over partials; `extra` is the column of its one key more, if it has one.

    approx_count_distinct: `extra` is the register, and the second partial the greatest rank in it, of
    `precision`. approx_percentile: `extra` is the bucket, `shares` the percentage or percentages.
    """

    name: str
    function: str
    partials: tuple[Aggregate, ...]
    arg_type: str | None = None
    type: str | None = None
    extra: str | None = None
    precision: int = 0
    shares: float | tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """The aggregates of each stretch by name, and where one fails (ANSI overflow); None: nowhere."""

    stretches: Stretches
    columns: dict[str, pa.Array]
    failed: Bools | None


def amounts(
    columns: Mapping[str, pa.Array], groups: Ints, firsts: Ints, behinds: Ints, wanted: Sequence[Wanted]
) -> Amounts:
    """The aggregates of each group at each instant at which it has a row; rows cover [first, behind)."""
    plain = [partial for each in wanted if each.extra is None for partial in each.partials]
    own = aggregate(columns, groups, firsts, behinds, plain)
    made = finished(own, [each for each in wanted if each.extra is None])
    of_values = {
        each.name: _of_values(columns, groups, firsts, behinds, own, each)
        for each in wanted
        if each.extra is not None
    }
    both = made.columns | of_values
    return Amounts(own, {each.name: both[each.name] for each in wanted}, made.failed)


def finished(own: Stretches, wanted: Sequence[Wanted]) -> Amounts:
    """Aggregates that have no key of their own, of partials that are there."""
    made, failed = {}, None
    for each in wanted:
        values = [own.values[partial.spec] for partial in each.partials]
        made[each.name], wrong = finish(each.function, each.arg_type, each.type, values)
        if wrong is not None:
            failed = wrong if failed is None else failed | wrong
    return Amounts(own, made, failed)


def _of_values(
    columns: Mapping[str, pa.Array], groups: Ints, firsts: Ints, behinds: Ints, own: Stretches, wanted: Wanted
) -> pa.Array:
    """An aggregate of the values of a group, each with stretches of its own."""
    rows = _taking_part(columns, wanted)
    columns = {name: column.take(pa.array(rows)) for name, column in columns.items()}
    index = GroupIndex(2)
    ids = index.add([pa.array(groups[rows]), columns[wanted.extra or ""]])
    found = aggregate(columns, ids, firsts[rows], behinds[rows], wanted.partials)
    group, value = index.take(found.groups)
    each, owner = own.within(group.to_numpy(), found.firsts, found.behinds)
    counts = [found.values[partial.spec][0] for partial in wanted.partials]
    match wanted.function:
        case "count_distinct":
            return pa.array(count_distinct(owner, len(own)))
        case "approx_count_distinct":
            ranks = counts[1].take(pa.array(each))
            return pa.array(approx_count_distinct(owner, ranks, len(own), wanted.precision))
        case "approx_percentile":
            made = percentiles(owner, value.take(pa.array(each)), counts[0][each], len(own), wanted.shares)
            return made if wanted.type is None else made.cast(arrow_type(wanted.type))
        case _:
            raise Bug("unknown-function", f"the aggregate `{wanted.function}` has no key of its own")


def _taking_part(columns: Mapping[str, pa.Array], wanted: Wanted) -> Ints:
    """The rows that have a value, and for which the condition holds."""
    assert wanted.extra is not None
    valid, where = valid_of(columns[wanted.extra]), wanted.partials[0].where
    taking = np.ones(len(columns[wanted.extra]), bool) if valid is None else valid
    if where is not None:
        taking = taking & columns[where].fill_null(False).to_numpy(zero_copy_only=False)
    return np.flatnonzero(taking)
