"""Level 1 tried out on generated rows, read by columns in this process: what it takes without Spark.

Each number is the difference of two trials that differ in one thing, as in `weft calibrate`. They are lower
than those of a run on Spark, whose workers read the files and ship the cells.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.engine.batch import Batch
from weft.engine.calibrate import behind_level1
from weft.engine.parquetfiles import pieces, read
from weft.engine.rowcells import row_cells
from weft.engine.rowscan import compile_scan
from weft.lang.parse import parse_program
from weft.log.home import Home
from weft.log.ingest import IngestLog
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.model.constants import Constants, Kind
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.times import SECOND

ROWS = 50_000
FEW, GROUPS = 10, 10_000  # every one is in the file
MANY = 4  # partials of a kind
TIMES = 4  # each trial; the least counts, for whatever else goes on only adds

_TYPES = {"x": "DOUBLE", "n": "BIGINT", "s": "STRING"}
_OF_KIND = {
    Kind.COUNT: "COUNT(x{0})",
    Kind.SUM: "SUM(n{0})",
    Kind.FLOAT: "SUM(x{0})",
    Kind.EXTREME: "MAX(x{0})",
    Kind.MOMENTS: "VAR_POP(x{0})",
    Kind.PAIR: "LAST(x{0})",
    Kind.RANKED: "MAX(s{0})",
}


@dataclass(frozen=True, slots=True)
class Scanned:
    """CPU-seconds of a batch, of a row with its predicate, group and partials, of a cell and its partials."""

    batch: float  # whatever it holds
    row: float
    predicate: float
    key: float
    partial: Mapping[Kind, float]
    made: float
    made_part: float


_COLUMNS = ", ".join(f"{kind}{at} {type_}" for kind, type_ in _TYPES.items() for at in range(MANY))
_STREAM = f"""
CREATE STREAM c (k BIGINT, {_COLUMNS}, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 0 SECONDS MAX AHEAD OFF FROM parquet OPTIONS ('path' = 'c');
"""


def scanned() -> Scanned:
    """What each of it takes."""
    with tempfile.TemporaryDirectory(prefix="weft-scan-") as place:
        few, wide = (_write(Path(place) / f"{groups}.parquet", groups) for groups in (FEW, GROUPS))
        batch = _took(_plan("COUNT(*) AS a"), _write(Path(place) / "tiny.parquet", FEW, FEW))
        nothing, keyed = _took(_plan("COUNT(*) AS a"), few), _took(_plan("COUNT(*) AS a", "k"), few)
        kinds = {kind: _plan(_several(call), "k") for kind, call in _OF_KIND.items()}
        partial = {kind: _each(_took(plan, few) - keyed, MANY * ROWS) for kind, plan in kinds.items()}
        made = _each(_took(_plan("COUNT(*) AS a", "k"), wide) - keyed, GROUPS)
        parts = _took(kinds[Kind.EXTREME], wide) - _took(kinds[Kind.EXTREME], few)
        return Scanned(
            batch=batch,
            row=_each(nothing - batch, ROWS),
            predicate=_each(_took(_plan("COUNT(*) AS a", where="n0 > 500"), few) - nothing, ROWS),
            key=_each(keyed - nothing, ROWS),
            partial=partial,
            made=made,
            made_part=_each(parts - made * GROUPS, MANY * GROUPS),
        )


def _plan(items: str, key: str = "", where: str = "") -> StreamPlan:
    query = (
        f"CREATE QUERY q AS SELECT {f'{key}, ' if key else ''}{items} FROM c [RANGE 8 SECONDS SLIDE 1 SECOND]"
    )
    query += f"{f' WHERE {where}' if where else ''}{f' GROUP BY {key}' if key else ''};"
    (plan,) = build(bind_program(parse_program(_STREAM + query))).streams
    return plan


def _several(call: str) -> str:
    return ", ".join(f"{call.format(at)} AS a{at}" for at in range(MANY))


def _write(path: Path, groups: int, rows: int = ROWS) -> Path:
    """A second of rows."""
    draw = np.random.default_rng(1)
    columns = {"k": pa.array(draw.permutation(np.arange(rows) % groups))}
    for at in range(MANY):
        numbers = draw.integers(0, 1000, rows)
        columns |= {f"x{at}": pa.array(draw.random(rows)), f"n{at}": pa.array(numbers)}
        columns[f"s{at}"] = pa.array(np.char.add("v", numbers.astype(str)))
    columns["ts"] = pa.array(np.sort(draw.integers(0, SECOND, rows)), pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table(columns), path)
    return path


def _took(plan: StreamPlan, path: Path) -> float:
    """The rows of a file read, aggregated and written to the log."""
    with tempfile.TemporaryDirectory(prefix="weft-scan-") as place, Home.open(Path(place) / "home") as home:
        log, scan, layout = IngestLog(home, plan.stream.name), compile_scan(plan), key_layout(plan)
        taken = []
        for number in range(TIMES):
            began = time.thread_time()
            rows = pa.Table.from_batches(list(read(pieces([str(path)], scan.columns), scan, None)))
            table = row_cells(rows, plan, None)
            batch = Batch(plan.stream.name, number, table, layout, 0, plan, {}, None, "", 0, 0.0)
            log.commit(number, batch.tables(), batch.meta())
            taken.append(time.thread_time() - began)
        return min(taken)


def without_spark(constants: Constants) -> Constants:
    """Constants for a run in this process: level 1 as it is here, and answers that go to the log alone."""
    here, behind = scanned(), behind_level1(stored=False)
    return replace(
        constants,
        by_columns=1.0,
        sink=0.0,
        told=behind.told,
        answer=behind.answer,
        value=behind.value,
        step=behind.step,
        batch=here.batch,
        row=here.row,
        predicate=here.predicate,
        key=here.key,
        partial=here.partial,
        made=here.made,
        made_part=here.made_part,
    )


def _each(seconds: float, count: float) -> float:
    """What one took; never less than nothing, which noise may say."""
    return max(seconds, 0.0) / count
