"""`weft calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from weft.commands.options import conf_option, home_beside, home_option, master_option, program_argument, read
from weft.log.paths import AnyPath
from weft.session import Session
from weft.share.model.figures import cpu


@click.command("calibrate")
@program_argument
@home_option
@master_option
@conf_option
def command(program: Path, home: AnyPath | None, master: str | None, conf: dict[str, str]) -> None:
    """Measure what work takes on this machine, so that `weft explain` predicts with its own numbers.

    Takes some seconds: a small Spark aggregation, and the kernels and the log on generated cells. The numbers
    are kept in the home of PROGRAM, in place of older ones.
    """
    with Session(home=home or home_beside(program), master=master, conf=conf) as session:
        session.sql(read(program), file=str(program))
        constants = session.calibrate()
    click.echo(f"constants {constants.origin}, kept in {session.home}")
    for name, value in constants.units():
        click.echo(f"  {name:34} {cpu(value)}")
