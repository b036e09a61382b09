"""`weft run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from weft.cli import CANNOT_RUN
from weft.commands.options import (
    Directory,
    Interval,
    conf_option,
    home_beside,
    home_option,
    master_option,
    program_argument,
    read,
)
from weft.engine.placement import AUTO, PLACEMENTS
from weft.log.paths import AnyPath
from weft.session import Session
from weft.terminal.live import Live
from weft.terminal.pace import troubles
from weft.terminal.progress import Interrupts, Plain, Progress, Ran, Silent, follow, summary


@click.command("run")
@program_argument
@home_option
@click.option("--once", is_flag=True, help="Process what is there, then stop.")
@click.option(
    "--drain", is_flag=True, help="As --once, and answer every window that holds a row before stopping."
)
@click.option(
    "--trigger",
    type=Interval(),
    metavar="TIME",
    help="Start a batch every TIME, e.g. 1s.  [default: as soon as the one before is done]",
)
@click.option(
    "--placement",
    type=click.Choice(PLACEMENTS),
    default=AUTO,
    show_default=True,
    help="Where the live cells are held; auto: in the driver, while it can and keeps up.",
)
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    help="On executors: in how many parts.  [default: as many as tasks run at once]",
)
@click.option(
    "--checkpoint",
    type=Directory(),
    metavar="DIR",
    help="Where Spark's own checkpoints go, a directory or a URL; given once, at the first start.  "
    "[default: in the home]",
)
@master_option
@conf_option
@click.option(
    "--progress",
    type=click.Choice(["plain", "live", "none"]),
    help="A line a second, a board, or nothing.  [default: live on a terminal, else plain]",
)
def command(
    program: Path,
    home: AnyPath | None,
    once: bool,
    drain: bool,
    trigger: str | None,
    placement: str,
    buckets: int | None,
    checkpoint: AnyPath | None,
    master: str | None,
    conf: dict[str, str],
    progress: str | None,
) -> None:
    """Run a program.

    It goes on until it is stopped. Ctrl-C (or SIGTERM) finishes the batch under way, delivers its answers and
    ends; a second Ctrl-C ends it at once. Started again, it goes on where it stopped, however that was: every
    window is answered once. If PROGRAM has changed since, unchanged queries go on, new ones start, removed
    ones end.

    Progress goes to stderr; where the answers are is said on stdout at the end.

    \b
    Exit codes: 0 done; 1 PROGRAM is wrong; 3 it cannot run here, or the run, a query or a sink failed;
    130 stopped by Ctrl-C, 143 by SIGTERM.
    """
    if trigger and (once or drain):
        raise click.UsageError("--trigger has no meaning with --once or --drain")
    with (
        Interrupts() as interrupts,
        Session(
            home=home or home_beside(program),
            checkpoint=checkpoint,
            master=master,
            conf=conf,
            placement=placement,
            buckets=buckets,
        ) as session,
    ):
        for said in session.sql(read(program), file=str(program)):
            click.echo(said)
        ran = follow(
            session,
            lambda: session.start(trigger=trigger, once=once or drain, drain=drain),
            _shown(progress, program.name, session),
            interrupts,
        )
        click.echo(summary(ran))
        click.echo(where(ran, session))
    ill = troubles(ran.status)
    for trouble in ill:
        click.echo(trouble, err=True)
    if interrupts.signal:
        raise click.exceptions.Exit(128 + interrupts.signal)
    if ill:
        raise click.exceptions.Exit(CANNOT_RUN)


def _shown(progress: str | None, title: str, session: Session) -> Progress:
    """As asked; by default a board, unless it would go to a file or get mixed up with a console sink."""
    if progress is None:
        to_console = any(query.sink and query.sink.format == "console" for query in session.program.queries)
        progress = "live" if sys.stderr.isatty() and not to_console else "plain"
    match progress:
        case "live":
            return Live(title, session.program, session.home)
        case "plain":
            return Plain()
        case _:
            return Silent()


def where(ran: Ran, session: Session) -> str:
    """Where the answers are: in the result store, and where INTO sent them."""
    sent = [query for query in session.program.queries if query.sink is not None]
    lines = []
    if len(sent) < len(session.program.queries):
        lines.append(
            f"answers: {session.home / 'results'}    see them with: weft results QUERY --home {session.home}"
        )
    if ran.done.dead or ran.done.bad:
        lines.append(f"dead letters: {session.home / 'dead'}")
    for query in sent:
        assert query.sink is not None
        path = dict(query.sink.options).get("path", "")
        lines.append(f"answers of {query.name}: {query.sink.format} {path}".rstrip())
    return "\n".join(lines)
