"""`weft calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from weft.commands.options import home_beside, home_option, program_argument, read
from weft.log.paths import AnyPath
from weft.session import Session
from weft.share.model.figures import cpu


@click.command("calibrate")
@program_argument
@home_option
def command(program: Path, home: AnyPath | None) -> None:
    """Measure what work takes on this machine, so that `weft explain` predicts with its own numbers.

    Takes some seconds, and needs no JVM: the real kernels and log work on generated cells, and what Spark
    does is scaled by how fast that is. The numbers are kept in the home of PROGRAM, in place of older ones.
    """
    session = Session(home=home or home_beside(program))
    session.sql(read(program), file=str(program))
    constants = session.calibrate()
    click.echo(f"constants {constants.origin}, kept in {session.home}")
    for name, value in constants.units():
        click.echo(f"  {name:34} {cpu(value)}")
