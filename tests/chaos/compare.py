"""What two runs of a program leave behind, row for row."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.json

Row = Mapping[str, Any]

SUMS = 1e-12  # of the sum of absolute values, all of which are positive here
SPREADS = 1e-9  # relative, of columns that are called v_*


def datasets(place: Path) -> dict[str, list[Row]]:
    """Every dataset of a run: the result store, the files of its sinks, the dead letters."""
    found = {str(p.relative_to(place)): _rows(p, "parquet") for p in sorted(place.glob("home/results/*/v*"))}
    found |= {str(p.relative_to(place)): _rows(p, "parquet") for p in sorted(place.glob("home/dead/*"))}
    formats = {"lines": "json", "sheet": "csv", "files": "parquet"}
    return found | {f"out/{name}": _rows(place / "out" / name, kind) for name, kind in formats.items()}


def _rows(directory: Path, format: str) -> list[Row]:
    rows: list[Row] = []
    for part in sorted(directory.glob("part-*")):
        match format:
            case "json":
                rows += [json.loads(line) for line in part.read_text().splitlines()]
            case "csv":
                rows += pyarrow.csv.read_csv(part).to_pylist()
            case _:
                rows += ds.dataset(part, format="parquet").to_table().to_pylist()
    return rows


def totals(place: Path) -> dict[str, Any]:
    """What the status says of each query and stream at the end, but for what tells of time or batches."""
    status = json.loads((place / "home" / "status.json").read_text())
    queries = {query["name"]: {k: query[k] for k in QUERY_TOTALS} for query in status["queries"]}
    streams = {stream["name"]: {k: stream[k] for k in STREAM_TOTALS} for stream in status["streams"]}
    return queries | streams


QUERY_TOTALS = ("version", "windows", "answers", "late", "dead", "state", "sink_state")
STREAM_TOTALS = ("rows", "late", "no_time", "ahead", "corrupt", "watermark")


def differences(undisturbed: Path, killed: Path) -> list[str]:
    """What differs; nothing when all is well."""
    right, found = datasets(undisturbed), datasets(killed)
    told = [f"{name}: {'missing' if name in right else 'unexpected'}" for name in right.keys() ^ found.keys()]
    for name in sorted(right.keys() & found.keys()):
        told += [f"{name}: {text}" for text in compare(right[name], found[name])]
    counted, counts = totals(undisturbed), totals(killed)
    told += [
        f"totals of {n}: {counts.get(n)} for {counted[n]}" for n in counted if counted[n] != counts.get(n)
    ]
    return told


def compare(right: list[Row], found: list[Row]) -> Iterable[str]:
    """What differs between the rows of one dataset, in any order."""
    theirs = _by_identity(found)
    for identity, rows in _by_identity(right).items():
        other = theirs.pop(identity, [])
        if len(rows) != len(other):
            yield f"{len(other)} rows for {len(rows)}: {dict(identity)}"
        elif not all(_alike(one, two) for one, two in zip(rows, other)):
            yield f"{other} for {rows}"
    for identity, rows in theirs.items():
        yield f"{len(rows)} rows for 0: {dict(identity)}"


def _by_identity(rows: Iterable[Row]) -> dict[Any, list[Row]]:
    """Rows by all that is not a floating number, in the order of those that are."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple((k, str(v)) for k, v in row.items() if not isinstance(v, float))].append(row)
    for same in found.values():
        same.sort(key=lambda row: [v for v in row.values() if isinstance(v, float)])
    return dict(found)


def _alike(one: Row, other: Row) -> bool:
    return all(
        one[k] == other[k] or math.isclose(one[k], other[k], rel_tol=SPREADS if k[:2] == "v_" else SUMS)
        for k in one
        if isinstance(one[k], float) and not (math.isnan(one[k]) and math.isnan(other[k]))
    )
