"""`weft test`."""

from __future__ import annotations

from pathlib import Path

import click

from weft.cli import DIFFERENT
from weft.commands.options import conf_option, home_beside, master_option, program_argument, read
from weft.session import Session
from weft.testing import run_cases


@click.command("test")
@program_argument
@click.argument("cases", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="CASES")
@master_option
@conf_option
def command(program: Path, cases: Path, master: str | None, conf: dict[str, str]) -> None:
    """Run a program on given rows and compare its answers with expected ones: tests of queries, for CI.

    CASES is a text file; each case feeds rows to streams of the program and says what its queries answer:

    \b
    case a trade counts in both windows that hold it
    feed trades
    A 10 10:00:01
    drain
    rows fast
    09:59:55 10:00:05 A 10
    10:00:00 10:00:10 A 10

    \b
    Exit codes: 0 all cases hold; 4 one does not.
    """
    text = read(program)
    with Session(home=home_beside(program), master=master, conf=conf) as session:
        session.sql(text, file=str(program))
        outcomes = run_cases(text, cases, session.spark)
    for outcome in outcomes:
        click.echo(f"{'FAILED' if outcome.problem else 'ok    '}  {outcome.name}")
        if outcome.problem:
            click.echo("\n".join(f"        {line}" for line in outcome.problem.splitlines()))
    failed = sum(bool(outcome.problem) for outcome in outcomes)
    click.echo(f"{len(outcomes) - failed} passed, {failed} failed")
    raise click.exceptions.Exit(DIFFERENT if failed else 0)
