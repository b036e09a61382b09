"""The constants of this machine, measured with the real kernels and the real log in a few seconds.

Each constant is the difference of two trials that differ in one thing: one group or many, one partial or some
of a kind, short windows or long ones. What level 1 takes is scaled by how fast all this is here: a JVM that
has just been started compiles, and a job over a hundred rows takes three times what a whole batch does later.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from math import log2
from statistics import median

from weft.engine.jointrial import with_joins
from weft.engine.trial import Took, Trial, try_out
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.model.constants import RUNNING_SUMS, SHIPPED, Constants, Kind
from weft.share.nodes import StreamPlan

GROUPS, SLICES = 1000, 24
MANY = 4  # partials of a kind

_STREAM = """
CREATE STREAM c (k BIGINT, x DOUBLE, n BIGINT, s STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 0 SECONDS MAX AHEAD OFF FROM rate;
"""
_OF_KIND = {
    Kind.COUNT: "COUNT(x + {0})",
    Kind.SUM: "SUM(n + {0})",
    Kind.FLOAT: "SUM(x + {0})",
    Kind.EXTREME: "MAX(x + {0})",
    Kind.MOMENTS: "VAR_POP(x + {0})",
    Kind.PAIR: "LAST(x + {0})",
    Kind.RANKED: "MAX(concat(s, '{0}'))",
}
_SHORT, _LONG = 8, 512  # slices of a window


def calibrate() -> Constants:
    """All constants, as they are on this machine."""
    measured = with_joins(behind_level1())
    when = time.strftime("%Y-%m-%d", time.gmtime())
    return replace(_scaled(measured, speed(measured)), origin=f"measured on {when}, {os.cpu_count()} cores")


def speed(measured: Constants) -> float:
    """How many times as long work takes here as where the shipped constants come from."""
    pairs = [(measured.feed, SHIPPED.feed), (measured.query, SHIPPED.query), (measured.step, SHIPPED.step)]
    pairs += [(measured.final[kind], SHIPPED.final[kind]) for kind in Kind]
    pairs += [(measured.fold[kind], SHIPPED.fold[kind]) for kind in Kind]
    return median(here / there for here, there in pairs)


def _scaled(found: Constants, by: float) -> Constants:
    return replace(
        found,
        row=SHIPPED.row * by,
        predicate=SHIPPED.predicate * by,
        key=SHIPPED.key * by,
        partial={kind: seconds * by for kind, seconds in SHIPPED.partial.items()},
        made=SHIPPED.made * by,
        made_part=SHIPPED.made_part * by,
        sink=SHIPPED.sink * by,
        batch=SHIPPED.batch * by,
    )


def planned(items: str, *lengths: int, slide: int = 1) -> StreamPlan:
    """The plan of queries by one key, one for each length of windows; all times in seconds."""
    queries = [
        f"CREATE QUERY q{at} AS SELECT k, {items} "
        f"FROM c [RANGE {length} SECONDS SLIDE {slide} SECONDS] GROUP BY k;"
        for at, length in enumerate(lengths)
    ]
    (plan,) = build(bind_program(parse_program("".join([_STREAM, *queries])))).streams
    return plan


def behind_level1(stored: bool = True) -> Constants:
    """The shipped constants with everything that happens behind level 1 as it is here.

    `stored`: answers are also kept as the result store does.
    """

    def tried(items: str, *lengths: int) -> Took:
        return try_out(Trial(planned(items, *lengths), GROUPS, SLICES, stored=stored))

    def fixed(items: str, *lengths: int) -> Took:
        return try_out(Trial(planned(items, *lengths), 1, 1, batches=12, stored=stored))

    many = tried("COUNT(*) AS a", _SHORT)
    kinds = {kind: tried(_several(call), _SHORT) for kind, call in _OF_KIND.items()}
    one = fixed("COUNT(*) AS a", _SHORT)
    several = fixed("COUNT(*) AS a", *range(_SHORT, _SHORT + MANY))
    empty = {kind: fixed(_several(call), _SHORT) for kind, call in _OF_KIND.items()}
    told = _each(several.output - one.output, MANY - 1)
    called = {kind: _each(took.final - one.final, _doublings(kind)) for kind, took in empty.items()}
    begun, selected = many.fold - one.fold, many.final - one.final
    fold = {
        kind: _each(took.fold - empty[kind].fold - begun, MANY * took.cells) for kind, took in kinds.items()
    }
    final = {
        kind: _each(took.final - empty[kind].final - selected, MANY * took.answers)
        for kind, took in kinds.items()
    }
    value = median(_each(took.output - many.output, (MANY - 1) * took.answers) for took in kinds.values())
    found = replace(
        SHIPPED,
        feed=one.fold,
        part=median(_each(took.fold - one.fold, MANY) for took in empty.values()),
        cell=max(_each(begun, many.cells) - fold[Kind.COUNT], 0.0),
        fold=fold,
        query=one.final,
        called=called,
        told=told,
        select=_each(selected, many.answers),
        final=final,
        block=_block(called[Kind.EXTREME]),
        distinct=_distinct(many),
        value=value,
        answer=max(_each(many.output - one.output, many.answers) - _COLUMNS * value, 0.0),
        step=max(one.output - told, 0.0),
    )
    sums, blocks = _place(Kind.SUM, found), _place(Kind.EXTREME, found)
    return replace(found, place={kind: sums if kind in RUNNING_SUMS else blocks for kind in Kind})


_COLUMNS = 4  # of the answers of the simplest query: window_start, window_end, its key, its count


def _several(call: str) -> str:
    return ", ".join(f"{call.format(at)} AS a{at}" for at in range(MANY))


def _each(seconds: float, count: float) -> float:
    """What one took; never less than nothing, which noise may say."""
    return max(seconds, 0.0) / count


def _block(called: float) -> float:
    """What a doubling of the slices of a window adds, besides asking for it."""
    call = _several(_OF_KIND[Kind.EXTREME])
    short, long = (
        try_out(Trial(planned(call, length), GROUPS // 4, SLICES, before=_LONG + 1))
        for length in (_SHORT, _LONG)
    )
    doublings = log2(_LONG / _SHORT)
    return _each(long.final - short.final - called * doublings, MANY * short.answers * doublings)


def _doublings(kind: Kind) -> float:
    """How often a kind is asked for by one query: of blocks once, and with every doubling of the slices."""
    return 1.0 if kind in RUNNING_SUMS else 1 + log2(_SHORT)


def _place(kind: Kind, known: Constants) -> float:
    """What a place without a cell takes: all that the others do not say of a matrix with few cells."""
    groups, slices, slide = GROUPS // 4, 320, 20
    took = try_out(Trial(planned(_several(_OF_KIND[kind]), slices, slide=slide), groups, slices, every=10))
    folded = took.cells * (known.cell + known.fold[Kind.COUNT] + MANY * known.fold[kind])
    fixed = known.feed + MANY * known.part + known.query
    blocks = 0.0 if kind in RUNNING_SUMS else log2(slices)
    fixed += known.called[kind] * (1 + blocks)
    answered = took.answers * (known.select + MANY * (known.final[kind] + blocks * known.block))
    places = groups * slices - took.cells
    return _each(took.fold + took.final - fixed - folded - answered, (MANY + 1) * places)


def _distinct(many: Took) -> float:
    """What counting one value of a window takes."""
    took = try_out(Trial(planned("COUNT(DISTINCT n) AS a", _SHORT), GROUPS, SLICES))
    return _each(took.final - many.final, many.answers)
