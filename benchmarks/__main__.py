"""`python -m benchmarks [question ...]`: measure, print, keep results beside their command."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path

import click
import pyspark

from benchmarks.measure import machine, show
from benchmarks.settings import Settings
from weft.spark.session import build_session

QUESTIONS = ("hundred", "thousand", "sliding", "latency")
HERE = Path(__file__).parent


@click.command()
@click.argument("questions", nargs=-1, type=click.Choice(QUESTIONS))
@click.option("--rows", default=10_000_000, show_default=True, help="rows of input")
@click.option("--files", default=10, show_default=True, help="files of input; each is a batch")
@click.option("--warm", default=1, show_default=True, help="unmeasured runs before")
@click.option("--repeat", default=1, show_default=True, help="measured runs; their median counts")
@click.option("--batches", default=500, show_default=True, help="batches of the latency question")
@click.option("--native-60", default=2, show_default=True, help="files for window() 60 s / 1 s")
@click.option("--native-600", default=1, show_default=True, help="files for window() 600 s / 1 s")
@click.option("--master", default="local[*]", show_default=True, help="Spark master")
@click.option("--memory", default="3g", show_default=True, help="driver memory")
@click.option(
    "--data", type=click.Path(path_type=Path), default=HERE / "data", help="where the input files are kept"
)
@click.option("--save", is_flag=True, help="write the reports to benchmarks/results")
def main(
    questions: tuple[str, ...],
    rows: int,
    files: int,
    warm: int,
    repeat: int,
    batches: int,
    native_60: int,
    native_600: int,
    master: str,
    memory: str,
    data: Path,
    save: bool,
) -> None:
    """Ask the QUESTIONS (all of them by default), both sides in this one process."""
    spark = build_session(master, {"spark.driver.memory": memory})
    parts = {60: native_60, 600: native_600}
    settings = Settings(spark, data.absolute(), rows, files, warm, repeat, batches, parts)
    try:
        for name in questions or QUESTIONS:
            before = machine()
            report = importlib.import_module(f"benchmarks.{name}").ask(settings)
            text = f"{show(report)}\n\n{before}, pyspark {pyspark.__version__}\n"
            click.echo(text)
            if save:
                _keep(name, text)
    finally:
        spark.stop()


def _keep(name: str, text: str) -> None:
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    (results / f"{name}.txt").write_text(f"$ {command}\n\n{text}")


if __name__ == "__main__":
    main()
