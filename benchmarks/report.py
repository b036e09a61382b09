"""Results as JSON -> docs/benchmarks.md with its plots."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import contestants, svg
from benchmarks.claims import claims
from benchmarks.measure import Claim, Measured
from benchmarks.race import Result

SCANS = {
    "weft": "spark_scan",
    "native": "spark_scan",
    "rival": "spark_scan",
    "flink": "flink_scan",
    "duck": "duck_scan",
}

TEXTS = {  # results that are kept as text
    "latency": "From a row to its answer",
    "weaving": "The weaver beside the thesis it comes from",
    "chosen": "Is the way to share that the model chooses the cheapest?",
}

HEAD = """# Benchmarks

Written by `make bench ARGS="--save"` from what it measured ([how](../benchmarks/README.md)).

- **CPU-s** are CPU-seconds of the whole process tree, the median of the warm runs; **wall** is their time.
- **Cold** is a new process up to the end of its first run: start of Python and JVM, compiling, and the run.
- **Cost** is CPU per row, as a multiple of weft's. A slow contestant is given the first files only, as noted.
- **Equal**: so many answers over the first files, all of windows that have closed, are those of DuckDB.
- **Load** is the machine's before and after. Above its number of cores others were running, and times suffer.
"""


def load(results: Path, order: Sequence[str]) -> dict[str, tuple[str, Result]]:
    """Command and result of each workload that was kept, in the order given."""
    found = {}
    for name in order:
        path = results / f"{name}.json"
        if path.exists():
            kept = json.loads(path.read_text())
            found[name] = (kept.pop("command"), Result.from_json(kept))
    return found


def keep(result: Result, command: str, results: Path) -> None:
    """Write the result beside its command."""
    results.mkdir(exist_ok=True)
    text = json.dumps({"command": command} | result.to_json(), indent=1)
    (results / f"{result.workload}.json").write_text(f"{text}\n")


def texts(results: Path) -> dict[str, str]:
    """What was kept as it was printed, each below its command."""
    return {name: path.read_text() for name in TEXTS if (path := results / f"{name}.txt").exists()}


def write(
    kept: Mapping[str, tuple[str, Result]], docs: Path, printed: Mapping[str, str] | None = None
) -> None:
    """The page, and beside it a directory with a plot of each workload."""
    plots = docs / "benchmarks"
    plots.mkdir(parents=True, exist_ok=True)
    for name, (_, result) in kept.items():
        if len(result.sides) > 1:
            (plots / f"{name}.svg").write_text(plot(result))
    (docs / "benchmarks.md").write_text(page(kept, printed))


def page(kept: Mapping[str, tuple[str, Result]], printed: Mapping[str, str] | None = None) -> str:
    results = {name: result for name, (_, result) in kept.items()}
    sections = [HEAD, _claims(claims(results))]
    sections += [_section(result, command) for command, result in kept.values()]
    sections += [f"## {TEXTS[name]}\n\n```\n{text.rstrip()}\n```\n" for name, text in (printed or {}).items()]
    return "\n".join(sections)


def plot(result: Result) -> str:
    """CPU-seconds for a million rows of those that do all the work, the cheapest first."""
    sides = sorted(
        (side for name, side in result.sides.items() if name in contestants.ANSWER), key=_cpu_per_million
    )
    values = [(contestants.NAMES[side.name], _cpu_per_million(side)) for side in sides]
    return svg.bars("CPU-seconds per million rows", values, contestants.NAMES["weft"])


def _cpu_per_million(side: Measured) -> float:
    return 1e6 / side.rows_per_cpu_second


def _claims(found: Sequence[Claim]) -> str:
    if not found:
        return "## What is claimed\n\nNothing was measured at full size yet.\n"
    rows = [
        (
            claim.text,
            _number(claim.ratio),
            f"{'at most' if claim.at_most else 'at least'} {_number(claim.bound)}",
            "holds" if claim.holds else "**does not hold**",
        )
        for claim in found
    ]
    return "\n".join(
        ["## What is claimed", "", *_table(("weft against", "measured", "wanted", ""), rows), ""]
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _section(result: Result, command: str) -> str:
    small = "" if result.full else " **A small race**: it shows that all runs, and no claim is judged by it."
    lines = [f"## {result.title}", "", f"{result.shape}.{small}", ""]
    if len(result.sides) > 1:
        lines += [f"![CPU-seconds per million rows](benchmarks/{result.workload}.svg)", ""]
    lines += _table(*_columns(result))
    lines += [""] + [
        f"{contestants.NAMES[name]}: not available: {why}\n" for name, why in result.absent.items()
    ]
    lines += [f"`{command}` on {result.machine}", ""]
    return "\n".join(lines)


def _columns(result: Result) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of a workload; what is left without the scan only where scans were measured."""
    scanned = any(name in result.sides for name in SCANS.values())
    head = ["", "CPU-s", "wall s", "rows per CPU-s", "cost", "cold CPU-s", "cold s", "load", "equal", ""]
    if scanned:
        head.insert(2, "CPU-s less scan")
    rows = []
    for name, side in result.sides.items():
        row = _row(result, name, side)
        if scanned:
            row.insert(2, _less_scan(result, name, side))
        rows.append(tuple(row))
    return tuple(head), rows


def _row(result: Result, name: str, side: Measured) -> list[str]:
    weft = result.sides.get("weft")
    cost = f"{_cpu_per_million(side) / _cpu_per_million(weft):.2f}" if weft else ""
    cold = [f"{side.cold.cpu:.1f}", f"{side.cold.wall:.1f}"] if side.cold else ["", ""]
    return [
        contestants.NAMES[name],
        f"{side.cpu:.2f}",
        f"{side.wall:.2f}",
        f"{side.rows_per_cpu_second:,.0f}",
        cost,
        *cold,
        f"{side.load[0]:.1f}/{side.load[1]:.1f}",
        result.equal.get(name, "").removesuffix(" answers equal"),
        ", ".join(filter(None, [side.note, f"{side.answers:,} answers" if side.answers else ""])),
    ]


def _less_scan(result: Result, name: str, side: Measured) -> str:
    scan = result.sides.get(SCANS.get(name, ""))
    return f"{side.cpu - scan.cpu / scan.rows * side.rows:.2f}" if scan else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(head), _line(["---"] * len(head)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
