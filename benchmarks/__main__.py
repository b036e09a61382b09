"""`python -m benchmarks [question ...]`: race, print, keep results beside their command."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import pyspark

from benchmarks import contestants, flink_home, latency, report
from benchmarks.measure import machine, show
from benchmarks.race import Settings, race
from benchmarks.workloads import Sizes, all_workloads
from weft.spark.session import build_session

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PLACES = ("--data", "--scratch", "--flink")
QUESTIONS = (*all_workloads(Sizes()), "latency")


@click.command()
@click.argument("questions", nargs=-1, type=click.Choice(QUESTIONS))
@click.option("--rows", default=Sizes().rows, show_default=True, help="rows of input")
@click.option("--files", default=Sizes().files, show_default=True, help="files of input; each is a batch")
@click.option("--repeat", default=3, show_default=True, help="warm runs; their median counts")
@click.option("--only", multiple=True, type=click.Choice(list(contestants.NAMES)), help="contestants")
@click.option("--workload", "names", multiple=True, help="just these of the questions' workloads")
@click.option("--check/--no-check", default=True, show_default=True, help="compare all answers")
@click.option("--batches", default=500, show_default=True, help="batches of the latency question")
@click.option("--memory", default="3g", show_default=True, help="of each JVM")
@click.option("--flink", type=click.Path(path_type=Path), default=flink_home.DEFAULT, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default=HERE / "data", help="where input is kept")
@click.option("--scratch", type=click.Path(path_type=Path), help="where answers are written, and removed")
@click.option("--save", is_flag=True, help="keep results, and write docs/benchmarks.md")
@click.option("--page", is_flag=True, help="write docs/benchmarks.md from the results kept; run nothing")
def main(
    questions: tuple[str, ...],
    rows: int,
    files: int,
    repeat: int,
    only: tuple[str, ...],
    names: tuple[str, ...],
    check: bool,
    batches: int,
    memory: str,
    flink: Path,
    data: Path,
    scratch: Path | None,
    save: bool,
    page: bool,
) -> None:
    """Race all contestants over the QUESTIONS, all of them by default."""
    if page:
        _write_page()
        return
    sizes = Sizes(rows, files)
    with tempfile.TemporaryDirectory(prefix="weft-bench-", dir=scratch) as place:
        settings = Settings(
            sizes, data.absolute(), Path(place), flink, repeat, memory, check, frozenset(only)
        )
        for question in questions or QUESTIONS:
            if question == "latency":
                _ask_latency(batches, memory, save)
                continue
            for workload in all_workloads(sizes)[question]:
                if names and workload.name not in names:
                    continue
                click.echo(f"{workload.name}: {workload.title}")
                result = race(workload, settings, click.echo)
                if save:
                    report.keep(result, command(sys.argv[1:]), RESULTS)
                    _write_page()


def _ask_latency(batches: int, memory: str, save: bool) -> None:
    spark = build_session("local[*]", {"spark.driver.memory": memory})
    try:
        before = machine()
        text = f"{show(latency.ask(spark, batches))}\n\n{before}, pyspark {pyspark.__version__}\n"
    finally:
        spark.stop()
    click.echo(text)
    if save:
        (RESULTS / "latency.txt").write_text(f"$ {command(sys.argv[1:])}\n\n{text}")


def command(arguments: Sequence[str]) -> str:
    """How to ask for the same again; where this machine keeps its files is left out."""
    given, kept = iter(arguments), []
    for argument in given:
        if argument in PLACES:
            next(given, None)
        elif not argument.startswith(tuple(f"{place}=" for place in PLACES)):
            kept.append(argument)
    return f'make bench ARGS="{shlex.join(kept)}"'


def _write_page() -> None:
    order = [workload.name for several in all_workloads(Sizes()).values() for workload in several]
    report.write(report.load(RESULTS, order), HERE.parent / "docs", report.texts(RESULTS))


if __name__ == "__main__":
    main()
