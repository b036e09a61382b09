"""`weft results`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import click
import pyarrow as pa
from rich.console import Console

from weft.commands.homes import find_home, home_of_answers_option
from weft.engine.textrows import csv_lines, json_lines
from weft.log.paths import AnyPath
from weft.results import Dataset, Tail, find, knows, last, tables, total
from weft.terminal.rows import rich_table

SHOWN = 20  # rows of a table unless more are asked for
LOOK = 0.5  # seconds between looks for new answers


@click.command("results")
@click.argument("query")
@home_of_answers_option
@click.option(
    "--last",
    "rows",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Only the last N rows.  [default: {SHOWN} for a table, else all]",
)
@click.option("--follow", is_flag=True, help="Go on with new answers as they come, until Ctrl-C.")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@click.option(
    "--version",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of an older version of the query.  [default: the newest]",
)
def command(
    query: str, home: AnyPath | None, rows: int | None, follow: bool, form: str, version: int | None
) -> None:
    """Show the answers of a query, oldest window first.

    Reads the files of the result store (or of INTO parquet, json, csv) without Spark, while the program runs
    or after.

    \b
    --format csv: a header line, then RFC 4180. --format json: an object a line.
    Times are ISO 8601 in UTC with microseconds; null is an empty field (csv) or null (json);
    NaN and the infinities are NaN, Infinity, -Infinity (strings in json); arrays are JSON also in csv.
    """
    place = find_home(home, lambda one: knows(one, query))
    dataset = find(place, query, version)
    shown = rows if rows is not None else SHOWN if form == "table" else None
    writer = Writer(form)
    tail = Tail(dataset)
    if follow:
        tail.skip()
    for piece in _pieces(dataset, shown):
        writer.write(piece)
    if form == "table" and not follow:
        _say_how_many(dataset, writer.rows, asked=rows is not None)
    while follow:
        time.sleep(LOOK)
        new = tail.new()
        if new is not None:
            writer.write(new)


def _pieces(dataset: Dataset, rows: int | None) -> Iterable[pa.Table]:
    if rows is None:
        return tables(dataset)
    found = last(dataset, rows) if rows else None
    return [] if found is None else [found]


def _say_how_many(dataset: Dataset, shown: int, asked: bool) -> None:
    there = total(dataset)
    if there == 0:
        click.echo(
            f"no answers of `{dataset.query}` yet; `weft status {dataset.query}` tells what it waits for",
            err=True,
        )
    elif there is not None and there > shown and not asked:
        click.echo(f"the last {shown:,} of {there:,} rows; --last N shows more", err=True)


class Writer:
    """Writes pieces of answers to stdout, one after the other, as one text of the given format."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.rows = 0

    def write(self, piece: pa.Table) -> None:
        first, self.rows = self.rows == 0, self.rows + piece.num_rows
        if self.form == "csv":
            click.echo(csv_lines(piece, first, ","), nl=False)
        elif self.form == "json":
            click.echo(json_lines(piece), nl=False)
        else:
            self._table(piece, first)
        sys.stdout.flush()

    def _table(self, piece: pa.Table, header: bool) -> None:
        terminal = sys.stdout.isatty()
        Console(file=sys.stdout, width=None if terminal else 10_000).print(rich_table(piece, header))
