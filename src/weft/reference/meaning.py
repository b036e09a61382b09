"""A bound query as one SELECT, stage by stage.

    valid ─ WHERE ─► passing ─► computed ─ one row per window it is in ─► placed ─ GROUP BY ─► grouped
          ─► finished ─ HAVING ─► kept ─ ORDER BY, LIMIT per window ─► ranked ─► the output columns

Every stage that evaluates expressions leaves out the rows on which one fails; what is left out before the
grouping are the dead letters of the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from weft.lang.statements import Expr, OrderKey, WindowSpec
from weft.plan.nodes import Named, Query, Stream
from weft.reference.arguments import arg_names, as_boolean, filter_name, wanted
from weft.reference.dialect import Dialect, Types
from weft.reference.duckdb import DuckDB
from weft.reference.ends import first_end, last_end
from weft.reference.groupings import filled, group_by, grouping_types, groupings, held
from weft.reference.shape import Shape, shape
from weft.reference.spark import Spark
from weft.times import Instant

TIME, END, ANSWER, RANK = "_weft_ts", "_weft_end", "_weft_answer", "_weft_rank"

Stages = list[tuple[str, str]]
DialectName = Literal["duckdb", "spark"]
DIALECTS: dict[str, Dialect] = {"duckdb": DuckDB(), "spark": Spark()}


def reference_sql(
    query: Query,
    stream: Stream,
    *,
    dialect: DialectName,
    watermark: Instant | None = None,
    after: Instant | None = None,
    since: Instant | None = None,
    table: str | None = None,
) -> str:
    """All answers of `query` over the rows of `table` (named like the stream unless said otherwise).

    Windows with `end <= watermark` (None: every window that holds a row), `start > after` (None: all) and
    `end > since` (None: all). The table has every column of the stream, computed ones included.
    """
    parts, engine = shape(query), DIALECTS[dialect]
    stages = _rows(parts, stream, engine, table or stream.name)
    if parts.window is None:
        return _select(stages, _renamed(parts.items, engine))
    _place(stages, parts, parts.window, engine, (watermark, after, since))
    _group(stages, parts, parts.window, engine)
    _finish(stages, parts, engine)
    return _select(stages, _renamed(parts.items, engine))


def dead_sql(query: Query, stream: Stream, *, dialect: DialectName, table: str | None = None) -> str:
    """One number: the rows of `table` on which an expression of the query below its aggregate fails."""
    stages = _rows(shape(query), stream, DIALECTS[dialect], table or stream.name)
    names = [name for name, _ in stages]
    failed = [
        f"(SELECT COUNT(*) FROM {before}) - (SELECT COUNT(*) FROM {name})"
        for before, name in pairwise(names)
        if name.startswith("checked")
    ]
    return _select(stages, f"SELECT {' + '.join(failed) or '0'} AS dead")


def late_sql(
    query: Query,
    stream: Stream,
    *,
    dialect: DialectName,
    watermark: Instant,
    after: Instant | None = None,
    table: str | None = None,
) -> str:
    """One number: the rows of `table` that a window of the query already answered at `watermark` misses."""
    parts, engine = shape(query), DIALECTS[dialect]
    if parts.window is None:
        return "SELECT 0 AS late"
    stages = _rows(parts, stream, engine, table or stream.name)
    lower = TIME if after is None else f"GREATEST({TIME}, {after + parts.window.range})"
    upper = f"LEAST({watermark}, {TIME} + {parts.window.range})"
    missed = f"{first_end(lower, parts.window)} <= {upper}"
    return _select(stages, f"SELECT COUNT(*) AS late FROM {_last(stages)} WHERE {missed}")


def _rows(parts: Shape, stream: Stream, engine: Dialect, table: str) -> Stages:
    """The rows with an event time that pass WHERE, and what the query wants of each."""
    types: Types = {column.name: column.type for column in stream.columns}
    columns = [engine.quote(column.name) for column in stream.columns]
    time = engine.quote(stream.statement.time_column)
    stages = [
        (
            "valid",
            f"SELECT {', '.join(columns)}, {engine.micros(time)} AS {TIME} "
            f"FROM {engine.quote(table)} WHERE {time} IS NOT NULL",
        )
    ]
    for number, predicate in enumerate(parts.where):
        passes = f"_weft_where{number}"
        made = {passes: as_boolean(predicate)}
        stages += [
            (f"checked_where{number}", engine.checked(_last(stages), "*", made, types)),
            (f"passing{number}", f"SELECT * FROM checked_where{number} WHERE {passes}"),
        ]
    asked = _wanted(parts)
    if asked:
        stages.append(("checked_row", engine.checked(_last(stages), TIME, asked, types)))
    return stages


def _wanted(parts: Shape) -> dict[str, Expr]:
    return _items(parts.items) if parts.window is None else wanted(parts.keys, parts.aggregations)


def _place(
    stages: Stages,
    parts: Shape,
    window: WindowSpec,
    engine: Dialect,
    bounds: tuple[Instant | None, Instant | None, Instant | None],
) -> None:
    """One row per row and window that holds it; with EMIT EMPTY also one of nulls per window without.

    Those windows end after the first row of the stream, and up to the watermark; with none, they start no
    later than its last row.
    """
    watermark, after, since = bounds

    def within(end: str) -> str:
        kept = [f"{end} <= {watermark}"] if watermark is not None else []
        kept += [f"{end} > {after + window.range}"] if after is not None else []
        kept += [f"{end} > {since}"] if since is not None else []
        return f" WHERE {' AND '.join(kept)}" if kept else ""

    last = f"{TIME} + {window.range}"
    stages.append(("held", engine.exploded(_last(stages), first_end(TIME, window), last, window.slide, END)))
    if not parts.emit_empty:
        stages.append(("placed", f"SELECT * FROM held{within(END)}"))
        return
    last = last_end(f"MAX({TIME}) + {window.range}" if watermark is None else str(watermark), window)
    first = first_end(f"MIN({TIME})", window)
    stages += [
        ("span", f"SELECT {first} AS low, {last} AS high FROM valid HAVING COUNT(*) > 0"),
        ("every_end", engine.exploded("span", "low", "high", window.slide, ANSWER)),
        (
            "placed",
            f"SELECT every_end.{ANSWER}, held.* FROM every_end LEFT JOIN held "
            f"ON every_end.{ANSWER} = held.{END}{within(f'every_end.{ANSWER}')}",
        ),
    ]


def _group(stages: Stages, parts: Shape, window: WindowSpec, engine: Dialect) -> None:
    end = ANSWER if parts.emit_empty else END
    present = [f"{TIME} IS NOT NULL"] if parts.emit_empty else []
    keys = [key.name for key in parts.keys]
    calls = []
    for call in parts.aggregations:
        where = [*present, *([filter_name(call)] if call.filter is not None else [])]
        calls += engine.aggregated(call, arg_names(call), where, TIME)
    columns = ", ".join([f"{end} AS {END}", *keys, *groupings(parts), *held(parts, TIME), *calls])
    stages.append(("grouped", f"SELECT {columns} FROM placed{group_by(parts, end)}"))
    if (those := filled(parts, "grouped")) is not None:
        stages.append(("filled", those))
    start = engine.instant(f"{END} - {window.range}")
    carried = ", ".join([END, f"{start} AS window_start", f"{engine.instant(END)} AS window_end", *keys])
    carried = ", ".join([carried, *grouping_types(parts)])
    stages.append(("finished", engine.finished(_last(stages), carried, parts.aggregations)))


def _finish(stages: Stages, parts: Shape, engine: Dialect) -> None:
    types: Types = {
        "window_start": "timestamp",
        "window_end": "timestamp",
        **{key.name: key.type for key in parts.keys},
        **{call.name: call.type for call in parts.aggregations},
        **grouping_types(parts),
    }
    for number, predicate in enumerate(parts.having):
        passes = f"_weft_having{number}"
        stages += [
            (f"asked{number}", engine.checked(_last(stages), "*", {passes: as_boolean(predicate)}, types)),
            (f"kept{number}", f"SELECT * FROM asked{number} WHERE {passes}"),
        ]
    if parts.limit is not None:
        ties = [*(key.name for key in parts.keys), *grouping_types(parts)]
        _rank(stages, parts.order, ties, parts.limit, engine, types)
    stages.append(("shown", engine.checked(_last(stages), "", _items(parts.items), types)))


def _rank(
    stages: Stages, order: Sequence[OrderKey], ties: Sequence[str], limit: int, engine: Dialect, types: Types
) -> None:
    names = {f"_weft_order{number}": key.expr for number, key in enumerate(order)}
    if names:
        stages.append(("ordered", engine.checked(_last(stages), "*", names, types)))
    by = [
        f"{name} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for name, key in zip(names, order)
    ]
    by += [f"{tie} ASC NULLS FIRST" for tie in ties]
    over = f"PARTITION BY {END}" + (f" ORDER BY {', '.join(by)}" if by else f" ORDER BY {END}")
    stages += [
        ("ranked", f"SELECT *, ROW_NUMBER() OVER ({over}) AS {RANK} FROM {_last(stages)}"),
        ("limited", f"SELECT * FROM ranked WHERE {RANK} <= {limit}"),
    ]


def _items(items: Sequence[Named]) -> dict[str, Expr]:
    return {f"_i{number}": item.expr for number, item in enumerate(items)}


def _renamed(items: Sequence[Named], engine: Dialect) -> str:
    columns = (f"_i{number} AS {engine.quote(item.name)}" for number, item in enumerate(items))
    return f"SELECT {', '.join(columns)} FROM {{last}}"


def _last(stages: Stages) -> str:
    return stages[-1][0]


def _select(stages: Stages, select: str) -> str:
    lines = ",\n".join(f"  {name} AS ({sql})" for name, sql in stages)
    return f"WITH\n{lines}\n{select.replace('{last}', _last(stages))}"
