"""The text of level 1: a shared plan as one Spark SQL query over a batch.

    SELECT feed, status, slice, keys, parts, counts     output
    FROM (SELECT ... aggregates                         group
          FROM (SELECT *, keys, predicates              derive
                FROM (SELECT *, slice or status         place
                      FROM (SELECT *, event time ...))) time
          GROUP BY place, keys)

What differs from batch to batch (the clock, the watermark) must not stand in the text as a number: Spark
would generate, compile and warm up new code for every batch. See `parameter`.

Every column that is ours begins with `_weft` until the last SELECT: a stream may call its columns anything
else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from weft.kernels.columns import part_columns
from weft.plan.coercion import decimal_parts
from weft.share.nodes import Edges, Op, Partial, StreamPlan
from weft.share.rowcolumns import RowColumns, key_layout, row_columns
from weft.share.signatures import COLUMN, by_columns, signatures_in
from weft.spark.intervals import key_sql
from weft.spark.signatures import covers_sql, signature_sql

CELL, UNWANTED, NO_TIME, AHEAD, BROKEN = range(5)
"""Status of a group: cells; valid rows no aggregate query wants; rows that cannot be taken, and why."""

CORRUPT = "_weft_corrupt"
_CLOCK = re.compile(
    r"""'(?:[^'\\]|\\.)*'|`[^`]*`|\b(?P<clock>CURRENT_TIMESTAMP|CURRENT_DATE|LOCALTIMESTAMP)\b(?:\(\))?"""
)
TIME = "_weft_t"
PLACE = "_weft_s"
_FLOOR = -9_000_000_000_000_000_000  # less a status: below every slice that a timestamp can fall into
IS_CELL = f"{PLACE} >= {_FLOOR}L"
IS_VALID = f"{PLACE} >= {_FLOOR - UNWANTED}L"
STATUS = f"IF({IS_CELL}, {CELL}, CAST({_FLOOR}L - {PLACE} AS INT)) AS status"
SLICE = f"IF({IS_CELL}, {PLACE}, NULL) AS slice"


def level1_sql(plan: StreamPlan, source: str, corrupt: bool, now: int | None, watermark: int | None) -> str:
    """Level 1 over the relation `source`; `corrupt`: it has a column `_weft_corrupt`."""
    columns = row_columns(plan)
    made = aggregates(plan, columns, watermark)
    roots = _by_keys(plan)
    keys = [f"_weft_g{at}" for at in range(len(columns.keys))]
    derived = derive(plan, columns, source, corrupt, now)
    grouped = select([PLACE, *keys, *_grouping(roots), *made.inner], derived) + _group_by(roots, keys)
    told = select(["*", _feed(roots, len(keys))], grouped)
    return at_time(now, select(_output(plan, keys, made), told))


def at_time(now: int | None, sql: str) -> str:
    """`sql` with the clock at `now`: the same for all expressions of a batch, and known afterwards."""
    if now is None:
        return sql
    clock = f"timestamp_micros({parameter(now)})"

    def replace(found: re.Match[str]) -> str:
        match found["clock"]:
            case None:
                return found[0]
            case "CURRENT_DATE":
                return f"CAST({clock} AS DATE)"
            case "LOCALTIMESTAMP":
                return f"CAST({clock} AS TIMESTAMP_NTZ)"
            case _:
                return clock

    return _CLOCK.sub(replace, sql)


def place(plan: StreamPlan, source: str, corrupt: bool, now: int | None) -> str:
    """The rows of `source` with their event time and the slice, or the code of the status, they fall into."""
    time = quoted(plan.stream.statement.time_column)
    signed = [f"{signature_sql(one)} AS {COLUMN}{at}" for at, one in enumerate(signatures_in(plan))]
    columns = ["*", f"unix_micros(CAST({time} AS TIMESTAMP)) AS {TIME}", *signed]
    timed = f"SELECT {', '.join(columns)} FROM {source}"
    cases = [f"WHEN {CORRUPT} IS NOT NULL THEN {code(BROKEN)}"] if corrupt else []
    cases.append(f"WHEN {TIME} IS NULL THEN {code(NO_TIME)}")
    ahead = plan.stream.statement.max_ahead
    if now is not None and ahead is not None:
        cases.append(f"WHEN {TIME} > {parameter(now + ahead)} THEN {code(AHEAD)}")
    return select(["*", f"CASE {' '.join(cases)} {_slice_or_unwanted(plan)} END AS {PLACE}"], timed)


def _slice_or_unwanted(plan: StreamPlan) -> str:
    if not plan.roots:
        return f"ELSE {code(UNWANTED)}"
    start = slice_start(plan.edges, TIME)
    if plan.wanted is None:
        return f"ELSE {start}"
    wanted = covers_sql(by_columns(plan.wanted, signatures_in(plan)))
    return f"WHEN {wanted} THEN {start} ELSE {code(UNWANTED)}"


def slice_start(edges: Edges, time: str) -> str:
    """The last edge at or before `time`; `pmod`, for `%` truncates toward zero before 1970."""
    if edges.grain is not None:
        return f"{time} - pmod({time}, {edges.grain}L)"
    starts = [
        f"{time} - pmod({time}{f' - {phase}L' if phase else ''}, {slide}L)" for slide, phase in edges.pairs
    ]
    return starts[0] if len(starts) == 1 else f"greatest({', '.join(starts)})"


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Distinct aggregates, each once, and where the columns of the result find theirs."""

    inner: tuple[str, ...]
    column: dict[str, str]  # the name of a column of the result -> an expression over the inner ones


def aggregates(plan: StreamPlan, columns: RowColumns, watermark: int | None) -> Aggregates:
    """Every distinct aggregate that the partials of the root feeds, the counts and the guards need."""
    names: dict[str, str] = {}

    def once(sql: str) -> str:
        return names.setdefault(sql, f"a{len(names)}")

    column = {"rows": once("count(1)"), "min_ts": once(f"min({TIME})"), "max_ts": once(f"max({TIME})")}
    late = "CAST(0 AS BIGINT)"
    if watermark is not None:
        late = once(f"count(CASE WHEN {TIME} < {parameter(watermark)} AND {IS_VALID} THEN 1 END)")
    column["late"] = late
    for at, guard in enumerate(plan.guards):
        column[f"e{at}"] = once(f"count(CASE WHEN {IS_VALID} AND ({guard.fails.sql}) THEN 1 END)")
    for root in plan.roots:
        for at, partial in enumerate(plan.feeds[root].partials):
            shipped = part_columns(f"f{root}_p{at}", partial.op).values()
            column |= dict(zip(shipped, _parts(partial, columns, once), strict=True))
    return Aggregates(tuple(f"{sql} AS {name}" for sql, name in names.items()), column)


def _parts(partial: Partial, columns: RowColumns, once: Callable[[str], str]) -> tuple[str, ...]:
    """Its parts over the inner aggregates.

    The condition stands inside, in a CASE: Spark evaluates the argument of an aggregate with a FILTER clause
    for rows that the filter excludes, and fails on them.
    """
    where = None if partial.where is None else f"_weft_w{columns.where(partial.where)}"
    value = "1" if partial.arg is None else f"({partial.arg.sql})"
    match partial.op:
        case Op.COUNT:
            return (once(f"count({_when(where, value)})"),)
        case Op.SUM_INT:
            return (once(f"sum(CAST({_when(where, value)} AS BIGINT))"),)
        case Op.SUM_LONG:
            taken = _when(where, value)
            return once(f"sum(shiftright({taken}, 32))"), once(f"sum({taken} & 4294967295L)")
        case Op.SUM_DECIMAL:
            return (f"CAST({once(f'sum({_when(where, value)})')} AS {_wide(partial.type)})",)
        case Op.SUM_WIDE:
            taken, cut = _when(where, value), _two_to_64(partial.type)
            high, low = once(f"sum(CAST({taken} div {cut} AS DECIMAL(20, 0)))"), once(f"sum({taken} % {cut})")
            return f"CAST({high} AS DECIMAL(38, 0))", f"CAST({low} AS {_wide(partial.type)})"
        case Op.SUM_FLOAT:
            return (once(f"sum(CAST({_when(where, value)} AS DOUBLE))"),)
        case Op.MIN | Op.MAX:
            return (once(f"{partial.op}({_when(where, one_zero(value, partial.type))})"),)
        case Op.MOMENTS:
            taken = f"CAST({_when(where, value)} AS DOUBLE)"
            n, mean = once(f"count({taken})"), once(f"avg({taken})")
            return n, mean, f"{once(f'var_pop({taken})')} * {n}"
        case Op.FIRST | Op.LAST | Op.MIN_BY | Op.MAX_BY:
            pair = once(f"{_extreme(partial.op)}({_when(*_pair(partial, where, value))})")
            return f"{pair}.o", f"{pair}.v"


def _pair(partial: Partial, where: str | None, value: str) -> tuple[str | None, str]:
    """When, and as what, a row takes part in an extreme by another column; structs compare field by field."""
    value = one_zero(value, partial.type)
    if partial.by is None:
        return where, f"named_struct('o', {TIME}, 'v', {value})"
    by = one_zero(f"({partial.by.sql})", partial.by_type)
    present = f"{by} IS NOT NULL"
    return (f"{where} AND {present}" if where else present), f"named_struct('o', {by}, 'v', {value})"


def _extreme(op: Op) -> str:
    return "min" if op in (Op.FIRST, Op.MIN_BY) else "max"


def _when(where: str | None, value: str) -> str:
    return value if where is None else f"CASE WHEN {where} THEN {value} END"


def _wide(type_: str | None) -> str:
    return f"DECIMAL(38, {_scale(type_)})"


def _two_to_64(type_: str | None) -> str:
    """2^64 of the smallest units of a decimal: quotients by it fit 64 bits, remainders 20 digits."""
    scale = _scale(type_)
    return f"CAST('{1 << 64}e-{scale}' AS DECIMAL({max(20, scale)}, {scale}))"


def _scale(type_: str | None) -> int:
    return decimal_parts(type_ or "decimal(38,0)")[1]


def one_zero(value: str, type_: str | None) -> str:
    """`value` with -0.0 as 0.0: the two are one value, and must be one bit pattern."""
    if type_ == "double":
        return f"({value} + 0.0D)"
    return f"({value} + 0.0F)" if type_ == "float" else value


def derive(plan: StreamPlan, columns: RowColumns, source: str, corrupt: bool, now: int | None) -> str:
    """The placed rows with keys, null where they are no cells, and predicates: each evaluated once."""
    signed = signatures_in(plan)
    written = {
        key.sql: key_sql(by_columns(key, signed)) for root in plan.roots for key in plan.feeds[root].keys
    }
    keys = [
        f"CASE WHEN {IS_CELL} THEN {one_zero(f'({written[key]})', type_)} END AS _weft_g{at}"
        for at, (key, type_) in enumerate(zip(columns.keys, columns.key_types))
    ]
    wheres = [f"({where}) AS _weft_w{at}" for at, where in enumerate(columns.wheres)]
    return select(["*", *keys, *wheres], place(plan, source, corrupt, now))


def _by_keys(plan: StreamPlan) -> dict[tuple[int, ...], list[int]]:
    """Grouping sets, as sorted key positions, and the root feeds that each serves."""
    sets: dict[tuple[int, ...], list[int]] = {}
    for root, positions in key_layout(plan).items():
        sets.setdefault(tuple(sorted(set(positions))), []).append(root)
    return sets


def _grouping(roots: dict[tuple[int, ...], list[int]]) -> list[str]:
    return ["grouping_id() AS _weft_set"] if len(roots) > 1 else []


def _group_by(roots: dict[tuple[int, ...], list[int]], keys: list[str]) -> str:
    if len(roots) <= 1:
        return f" GROUP BY {', '.join([PLACE, *keys])}"
    sets = ", ".join(f"({', '.join([PLACE, *(keys[at] for at in positions)])})" for positions in roots)
    return f" GROUP BY {', '.join([PLACE, *keys])} GROUPING SETS ({sets})"


def _output(plan: StreamPlan, keys: list[str], made: Aggregates) -> list[str]:
    several = len(plan.roots) > 1
    first = plan.roots[0] if plan.roots else -1
    counts = {"rows", "min_ts", "max_ts", "late", *(f"e{at}" for at in range(len(plan.guards)))}

    def column(name: str, sql: str) -> str:
        feed = first if name in counts else int(name[1:].partition("_")[0])
        return f"{f'CASE WHEN feed = {feed} THEN {sql} END' if several else sql} AS {name}"

    return [
        "feed",
        STATUS,
        SLICE,
        *(f"{key} AS g{at}" for at, key in enumerate(keys)),
        *(column(name, sql) for name, sql in made.column.items()),
    ]


def _feed(roots: dict[tuple[int, ...], list[int]], keys: int) -> str:
    """The feed a group belongs to, told by which keys its grouping set leaves out.

    Where two feeds have the same keys, every group is given to both.
    """
    if not roots:
        return "-1 AS feed"
    shared = any(len(feeds) > 1 for feeds in roots.values())
    made = {
        at: f"array({', '.join(map(str, feeds))})" if shared else str(feeds[0]) for at, feeds in roots.items()
    }
    told = next(iter(made.values()))
    if len(roots) > 1:
        cases = (f"WHEN {_grouping_bits(at, keys)} THEN {feeds}" for at, feeds in made.items())
        told = f"CASE _weft_set {' '.join(cases)} END"
    return f"{f'explode({told})' if shared else told} AS feed"


def _grouping_bits(positions: Iterable[int], keys: int) -> int:
    return sum(1 << (keys - 1 - at) for at in range(keys) if at not in set(positions))


def parameter(value: int) -> str:
    """A number that is data to the generated code: an element of an array, picked by the row.

    Numbers are written into generated code, arrays are handed to it. Both elements are the same; that the
    index depends on the row keeps the optimizer from folding it away.
    """
    return f"array({value}L, {value}L)[CAST({TIME} & 1 AS INT)]"


def select(columns: Iterable[str], source: str) -> str:
    return f"SELECT {', '.join(columns)} FROM ({source})"


def code(status: int) -> str:
    """What stands in the place of a slice for rows of this status."""
    return f"{_FLOOR - status}L"


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
