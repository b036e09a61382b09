"""Predicted beside measured, for EXPLAIN ANALYZE.

What the JVM does is not told apart by level: reading, sub-aggregating and what a batch takes are one line,
all that the process and its children used and that answering did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from weft.errors import listed
from weft.share.model.cost import Level, added
from weft.share.model.figures import cpu, plain
from weft.share.model.forecast import Basis
from weft.share.model.measured import Apart, Happened, Measured
from weft.share.model.price import Priced
from weft.share.nodes import SharedPlan
from weft.share.table import table

TITLE = "predicted and measured, CPU time for each second of stream"
REST = "read, sub-aggregate, fixed"
MOST = 10  # queries
SAME = Apart()

_ANSWERING = (Level.FOLD, Level.FINAL, Level.OUTPUT)


@dataclass(frozen=True, slots=True)
class Sides:
    """One thing, predicted and measured, for each second of stream."""

    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class Compared:
    """Both sides: CPU-seconds by level, those of answering and the rows of answers by query."""

    measured: Measured
    levels: Mapping[str, Sides]
    answering: Mapping[str, Sides]
    answers: Mapping[str, Sides]
    apart: Apart


def compared(plan: SharedPlan, basis: Basis, measured: Measured, apart: Apart = SAME) -> Compared:
    """What was predicted from what a run has counted, beside what it has used."""
    seconds = measured.stream_seconds or float("inf")
    priced = [Priced.of(one, basis.constants, basis.loads.of(one.stream.name)) for one in plan.streams]
    cost = added(each.cost() for each in priced)
    taken = {level: measured.levels.get(level, 0.0) / seconds for level in _ANSWERING}
    rest = sum(expected for level, expected in cost.levels.items() if level not in taken)
    levels = {REST: Sides(rest, measured.cpu / seconds - sum(taken.values()))}
    levels |= {level.value: Sides(cost.levels[level], spent) for level, spent in taken.items()}
    levels["total"] = Sides(cost.total, measured.cpu / seconds)
    answers = {name: expected for each in priced for name, expected in each.answers().items()}
    return Compared(
        measured,
        levels,
        {
            name: Sides(cost.queries[name][Level.FINAL], measured.queries.get(name, 0.0) / seconds)
            for name in answers
        },
        {
            name: Sides(expected, measured.answers.get(name, 0) / seconds)
            for name, expected in answers.items()
        },
        apart,
    )


def show_compared(found: Compared, query: str | None = None) -> str:
    """The table in EXPLAIN ANALYZE: all levels and the dearest queries, or one query."""
    measured = found.measured
    rows = sum(stream.rows for stream in measured.streams.values())
    seen = f"{rows:,} rows, {measured.stream_seconds:,.0f} s of stream in {measured.wall:,.0f} s"
    lines = [TITLE, f"  of {seen}", *_apart(found.apart)]
    if query is None:
        lines += table([("", "predicted", "measured"), *_levels(found)], indent=4)
    return "\n".join(lines + _queries(found, query) + _switches(found, query))


def _apart(apart: Apart) -> list[str]:
    """That what runs is not what is predicted, and in what."""
    said = {"it also has": apart.more, "it lacks": apart.lacks, "it has another": apart.otherwise}
    told = [f"{how} {listed(names)}" for how, names in said.items() if names]
    return [f"  another program runs than this one: {'; '.join(told)}"] if told else []


def _levels(found: Compared) -> list[tuple[str, ...]]:
    return [(name, cpu(each.predicted), cpu(each.measured)) for name, each in found.levels.items()]


def _queries(found: Compared, query: str | None) -> list[str]:
    order = sorted(found.answering, key=lambda name: -found.answering[name].measured)
    names = order[:MOST] if query is None else [name for name in order if name == query]
    if not names:
        return []
    head = ("", "predicted", "measured", "answers/s predicted", "measured")
    rows = [(name, *_of_query(found.answering[name], found.answers[name])) for name in names]
    return ["  answering windows, by query", *table([head, *rows], indent=4)]


def _switches(found: Compared, query: str | None) -> list[str]:
    happened = [one for one in found.measured.switches if query is None or query in one.queries]
    return ["  switched while it ran", *(f"    {show_switch(one)}" for one in happened)] if happened else []


def show_switch(one: Happened) -> str:
    """When, why, and whether the treatment before still answers windows."""
    state = "" if one.settled else "; windows from before are still to be answered"
    return f"{one.at[:19].replace('T', ' ')}  {one.why}{state}"


def _of_query(taken: Sides, answers: Sides) -> tuple[str, ...]:
    return cpu(taken.predicted), cpu(taken.measured), plain(answers.predicted), plain(answers.measured)


def describe_compared(found: Compared) -> dict[str, Any]:
    """Both sides as plain values, in seconds and rows for each second of stream."""
    parts = {"levels": found.levels, "answering": found.answering, "answers": found.answers}
    both: dict[str, Any] = {
        what: {name: {"predicted": each.predicted, "measured": each.measured} for name, each in sides.items()}
        for what, sides in parts.items()
    }
    return both | {"switches": [asdict(one) for one in found.measured.switches], "apart": asdict(found.apart)}
