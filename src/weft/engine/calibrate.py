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
from statistics import fmean, median

from weft.engine.jointrial import with_joins
from weft.engine.trial import Took, Trial, try_out
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.model.constants import SHIPPED, Constants, Kind
from weft.share.nodes import StreamPlan

GROUPS, SLICES = 1000, 4
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


def planned(items: str, seconds: int) -> StreamPlan:
    """The plan of one query by one key, its windows so many seconds long, every second."""
    query = f"CREATE QUERY q AS SELECT k, {items} FROM c [RANGE {seconds} SECONDS SLIDE 1 SECOND] GROUP BY k;"
    (plan,) = build(bind_program(parse_program(_STREAM + query))).streams
    return plan


def behind_level1() -> Constants:
    """The shipped constants with everything that happens behind level 1 as it is here."""
    one = try_out(Trial(planned("COUNT(*) AS a", _SHORT), 1, 1))
    many = try_out(Trial(planned("COUNT(*) AS a", _SHORT), GROUPS, SLICES))
    kinds = {
        kind: try_out(Trial(planned(_several(call), _SHORT), GROUPS, SLICES))
        for kind, call in _OF_KIND.items()
    }
    fold = {kind: _each(took.fold - many.fold, MANY * took.cells) for kind, took in kinds.items()}
    final = {kind: _each(took.final - many.final, MANY * took.answers) for kind, took in kinds.items()}
    value = fmean(_each(took.output - many.output, (MANY - 1) * took.answers) for took in kinds.values())
    return replace(
        SHIPPED,
        feed=one.fold,
        cell=max(_each(many.fold - one.fold, many.cells) - fold[Kind.COUNT], 0.0),
        fold=fold,
        query=one.final,
        select=_each(many.final - one.final, many.answers),
        final=final,
        block=_block(),
        distinct=_distinct(many),
        value=value,
        answer=max(_each(many.output - one.output, many.answers) - _COLUMNS * value, 0.0),
        step=one.output,
    )


_COLUMNS = 4  # of the answers of the simplest query: window_start, window_end, its key, its count


def _several(call: str) -> str:
    return ", ".join(f"{call.format(at)} AS a{at}" for at in range(MANY))


def _each(seconds: float, count: float) -> float:
    """What one took; never less than nothing, which noise may say."""
    return max(seconds, 0.0) / count


def _block() -> float:
    """What a doubling of the slices of a window adds."""
    call = _several(_OF_KIND[Kind.EXTREME])
    short, long = (
        try_out(Trial(planned(call, length), GROUPS // 4, SLICES, before=_LONG + 1))
        for length in (_SHORT, _LONG)
    )
    return _each(long.final - short.final, MANY * short.answers * log2(_LONG / _SHORT))


def _distinct(many: Took) -> float:
    """What counting one value of a window takes."""
    took = try_out(Trial(planned("COUNT(DISTINCT n) AS a", _SHORT), GROUPS, SLICES))
    return _each(took.final - many.final, many.answers)
