"""The page says what was measured: what holds, what does not, who could not run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from benchmarks import report, svg
from benchmarks.__main__ import command
from benchmarks.claims import claims
from benchmarks.measure import Measured, Run
from benchmarks.race import Result


def side(name: str, cpu: float, rows: int = 1_000_000, note: str = "") -> Measured:
    runs = tuple(Run(cpu + away, cpu) for away in (0.0, -0.5, 9.0))
    return Measured(name, rows, runs, note, (0.5, 1.5), Run(3 * cpu, 4 * cpu))


TEN = Result(
    "ten",
    "Ten queries",
    "1,000,000 rows",
    {"weft": side("weft", 2), "native": side("native", 10, 100_000, "first 1 of 10 files")},
    {"weft": "1,234 answers equal"},
    {},
    "2 cores",
)
CSV = replace(
    TEN,
    workload="ten-csv",
    title="Ten from CSV",
    sides={"weft": side("weft", 8), "flink": side("flink", 30), "spark_scan": side("spark_scan", 6)},
    absent={"flink_scan": "no such package"},
)


def test_a_part_of_the_files_is_counted_as_such() -> None:
    (claim,) = claims({"ten": TEN})
    assert claim.ratio == 50  # five times the CPU for a tenth of the rows
    assert claim.holds


def test_claims_whose_workloads_were_not_run_are_left_out_and_broken_ones_said() -> None:
    assert claims({}) == []
    assert claims({"ten": replace(TEN, full=False)}) == []
    assert "A small race" in report.page({"ten": ("make bench", replace(TEN, full=False))})
    page = report.page({"ten-csv": ("make bench", CSV)})
    assert "3.75 | at least 5 | **does not hold** |" in page


def test_the_page_has_a_table_for_each_workload() -> None:
    page = report.page({"ten": ("make bench", TEN), "ten-csv": ("make bench", CSV)})
    assert "| weft | 2.00 | 2.00 | 500,000 | 1.00 | 6.0 | 8.0 | 0.5/1.5 | 1,234 |  |" in page
    assert "| 10,000 | 50.00 |" in page  # native, and that it had a part
    assert "first 1 of 10 files" in page
    assert "| weft | 8.00 | 2.00 | 8.00 |" in page  # less the scan
    assert "Flink, scan only: not available: no such package" in page
    tables = [line for line in page.splitlines() if line.startswith("|")]
    columns = {line.count("|") for line in tables}
    assert columns == {5, 11, 12}  # claims, without and with scans: no row of another length


def test_a_command_is_kept_without_the_places_of_this_machine() -> None:
    arguments = ["ten", "--data", "/here", "--flink=/there", "--rows", "10"]
    assert command(arguments) == 'make bench ARGS="ten --rows 10"'


def test_results_survive_being_kept(tmp_path: Path) -> None:
    report.keep(TEN, "make bench", tmp_path)
    assert report.load(tmp_path, ["absent", "ten"]) == {"ten": ("make bench", TEN)}


def test_the_page_and_its_plots_are_written_where_it_links_to(tmp_path: Path) -> None:
    report.write({"ten": ("make bench", TEN)}, tmp_path)
    assert "](benchmarks/ten.svg)" in (tmp_path / "benchmarks.md").read_text()
    assert (tmp_path / "benchmarks" / "ten.svg").exists()


def test_bars_are_in_proportion_and_labels_are_escaped() -> None:
    root = ET.fromstring(svg.bars("a < b", [("x & y", 1.0), ("z", 4.0)], "z"))
    widths = [float(bar.attrib["width"]) for bar in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths == [svg.BAR / 4, svg.BAR]
    fills = [bar.attrib["fill"] for bar in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert fills == [svg.GREY, svg.BLUE]


def test_what_is_kept_as_text_is_shown_as_it_was_printed(tmp_path):
    (tmp_path / "weaving.txt").write_text("$ python -m benchmarks.weaving\n\nfound\n")
    (tmp_path / "other.txt").write_text("not of the page")
    page = report.page({}, report.texts(tmp_path))
    assert f"## {report.TEXTS['weaving']}\n\n```\n$ python -m benchmarks.weaving\n\nfound\n```" in page
    assert "not of the page" not in page
