"""What is run: fifty queries over a stream of small JSON files, some of whose rows are broken."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

import numpy as np

QUERIES = 50

STREAM = """
CREATE STREAM trades (sym STRING, price DOUBLE, qty BIGINT, lots INT, amount DECIMAL(12, 2), venue STRING,
    flag BOOLEAN, note STRING, ts TIMESTAMP, minute AS minute(ts))
  TIMESTAMP BY ts DELAY 5 SECONDS
  FROM json OPTIONS ('path' = 'in', 'maxFilesPerTrigger' = '1');
"""

WINDOWS = (
    "RANGE 10 SECONDS SLIDE 5 SECONDS",
    "RANGE 60 SECONDS SLIDE 7 SECONDS",
    "RANGE 30 SECONDS",
    "RANGE 11 SECONDS SLIDE 3 SECONDS OFFSET 1 SECOND",
    "RANGE 2 SECONDS SLIDE 5 SECONDS",
    "RANGE 90 SECONDS SLIDE 15 SECONDS",
    "RANGE 1.5 SECONDS",
)
# Columns called v_* are variances: their bound is another than that of sums.
AGGREGATES = (
    "COUNT(*) AS n, SUM(qty) AS q",
    "AVG(price) AS p, COUNT(price) AS n",
    "MIN(price) AS lo, MAX(price) AS hi",
    "VAR_POP(price) AS v_pop, STDDEV_SAMP(price) AS v_samp",
    "BOOL_AND(flag) AS every, BOOL_OR(flag) AS some",
    "MIN_BY(sym, price) AS low, MAX_BY(sym, qty) AS high",
    "FIRST(price) AS f, LAST(price) AS l",
    "COUNT(DISTINCT venue) AS venues, COUNT(*) AS n",
    "SUM(amount) AS a, AVG(amount) AS m",
    "SUM(lots) AS s, MAX(note) AS latest",
    "APPROX_COUNT_DISTINCT(qty) AS about, COUNT(*) AS n",
    "SUM(price * qty) AS turnover, COUNT(*) FILTER (WHERE flag) AS flagged",
    "APPROX_PERCENTILE(price, 0.5) AS median, MIN(venue) AS first_venue",
)
GROUPS = ((), ("sym",), ("venue",), ("sym", "venue"), ("minute",))
FILTERS = (
    "",
    "WHERE qty > 50",
    "WHERE venue = 'X'",
    "WHERE price BETWEEN 20 AND 80",
    "WHERE flag OR lots > 2",
)

SPECIAL = (
    "large AS SELECT sym, price, qty, ts FROM trades WHERE price * qty > 9000",
    "casts AS SELECT sym, SUM(CAST(note AS INT)) AS s, COUNT(*) AS n FROM trades [RANGE 20 SECONDS] "
    "GROUP BY sym",
    "halves AS SELECT 100 / lots AS share, ts FROM trades WHERE qty > 90",
    "ratio AS SELECT sym, SUM(qty) / (COUNT(*) - 3) AS r FROM trades [RANGE 6 SECONDS] GROUP BY sym",
    "best AS SELECT sym, SUM(qty) AS q FROM trades [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY sym "
    "ORDER BY q DESC LIMIT 2",
    "busy AS SELECT venue, COUNT(*) AS n FROM trades [RANGE 10 SECONDS] GROUP BY venue HAVING COUNT(*) > 90",
    "each AS SELECT COUNT(*) AS n, MAX(price) AS p FROM trades [RANGE 3 SECONDS] WHERE price > 97 EMIT EMPTY",
    "lines AS SELECT sym, AVG(price) AS p FROM trades [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY sym "
    "INTO json OPTIONS ('path' = 'out/lines')",
    "sheet AS SELECT venue, SUM(amount) AS a, COUNT(*) AS n FROM trades [RANGE 8 SECONDS] GROUP BY venue "
    "INTO csv OPTIONS ('path' = 'out/sheet', 'flush' = '1 second', 'roll.rows' = '40')",
    "files AS SELECT sym, venue, MAX(qty) AS q FROM trades [RANGE 16 SECONDS SLIDE 8 SECONDS] "
    "GROUP BY sym, venue INTO parquet OPTIONS ('path' = 'out/files', 'roll.every' = '10 seconds')",
)


def program() -> str:
    """The program, as text."""
    count = QUERIES - len(SPECIAL)
    shapes = zip(cycle(WINDOWS), cycle(AGGREGATES), cycle(GROUPS), cycle(FILTERS[::-1] + FILTERS[:3]))
    plain = [_aggregate(f"q{at:02d}", *shape) for at, shape in enumerate(islice(shapes, count))]
    return STREAM + "".join(f"CREATE QUERY {text};\n" for text in (*plain, *SPECIAL))


def _aggregate(name: str, window: str, aggregates: str, keys: tuple[str, ...], where: str) -> str:
    listed = ", ".join((*keys, aggregates))
    group = f"GROUP BY {', '.join(keys)}" if keys else ""
    return f"{name} AS SELECT {listed} FROM trades [{window}] {where} {group}".strip()


START = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
SPAN = 4.0  # seconds of event time in a file
DISORDER = 3.0  # less than DELAY: no row is late, so answers do not depend on how steps fall


def write_files(directory: Path, count: int, rows: int, seed: int) -> list[Path]:
    """The files of the stream, in the order they are to arrive."""
    random = np.random.default_rng(seed)
    directory.mkdir(parents=True)
    files = []
    for number in range(count):
        path = directory / f"trades-{number:05d}.json"
        path.write_text("\n".join(_line(random, number) for _ in range(rows)) + "\n")
        files.append(path)
    return files


def _line(random: np.random.Generator, file: int) -> str:
    chance = random.random()
    if chance < 0.003:
        return '{"sym": "A", "price": 12.'  # does not parse
    at = file * SPAN + random.random() * SPAN - random.random() * DISORDER
    row = {
        "sym": f"S{random.integers(0, 8)}",
        "price": None if chance > 0.98 else round(float(random.random() * 100), 3),
        "qty": int(random.integers(0, 101)),
        "lots": int(random.integers(0, 5)),
        "amount": f"{random.random() * 1000:.2f}",
        "venue": ["X", "Y", "Z", "", None][int(random.integers(0, 5))],
        "flag": bool(random.random() < 0.4),
        "note": "n/a" if chance > 0.99 else str(int(random.integers(0, 50))),
    }
    if chance > 0.006:  # else it has no event time
        row["ts"] = (START + timedelta(seconds=at)).isoformat(timespec="microseconds")
    return json.dumps(row)
