"""`weft check`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from weft.commands.options import home_beside, master_option, program_argument, read
from weft.plan.nodes import Program
from weft.session import Session
from weft.terminal.figures import many


@click.command("check")
@program_argument
@click.option(
    "--spark", is_flag=True, help="Also ask Spark: types only it can tell, and whether sources can be read."
)
@master_option
def command(program: Path, spark: bool, master: str | None) -> None:
    """Find all errors of a program at once, each with its place and how to fix it.

    Names, arity, aggregates and common types are checked without a JVM; `--spark` starts one and checks the
    rest. Exit code 1 if there is an error.
    """
    session = Session(home=home_beside(program), master=master)
    session.sql(read(program), file=str(program))
    if spark:
        with session:
            session.check()
    click.echo(f"{program}: ok, {', '.join(_counts(session.program))}")


def _counts(program: Program) -> Iterator[str]:
    yield many(len(program.streams), "stream")
    if program.tables:
        yield many(len(program.tables), "table")
    yield many(len(program.queries), "query", "queries")
