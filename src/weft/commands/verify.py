"""`weft verify`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from weft.cli import CANNOT_RUN, DIFFERENT, exit_code, in_our_words, show_error
from weft.commands.options import conf_option, home_beside, home_option, master_option, program_argument, read
from weft.errors import WeftError
from weft.log.paths import AnyPath
from weft.session import Session
from weft.terminal.figures import many

_SHOWN = 10  # differences shown of each query


@click.command("verify")
@program_argument
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@home_option
@master_option
@conf_option
def command(
    program: Path, queries: tuple[str, ...], home: AnyPath | None, master: str | None, conf: dict[str, str]
) -> None:
    """Recompute answers from exactly the committed input, by plain Spark batch SQL, and compare.

    Without QUERY all queries are verified. Says so when a source cannot be read again. Queries over
    several sources are compared as of every instant at which something changes, from the first one on
    for which all rows are kept that matter.

    \b
    Exit codes: 0 equal; 3 cannot be verified; 4 a difference was found.
    """
    with Session(home=home or home_beside(program), master=master, conf=conf) as session:
        session.sql(read(program), file=str(program))
        names = queries or tuple(query.name for query in session.program.queries)
        codes = [_verify(session, name) for name in names]
    raise click.exceptions.Exit(max(codes, default=0))


def _progress(name: str) -> Callable[[str], None]:
    """Where somebody looks on, how far it has come, always in the same line."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda text: click.echo(f"\r\x1b[K{name}: {text}", err=True, nl=False)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)


def _verify(session: Session, name: str) -> int:
    """The exit code of one query; a bug that one brings to light leaves the others to be verified."""
    try:
        found = session.verify(name, _progress(name))
    except WeftError:
        raise
    except Exception as error:
        told = in_our_words(error)
        _clear()
        click.echo(f"{name}: not verified: {told.what.splitlines()[0]}")
        show_error(told)
        return exit_code(told)
    _clear()
    windows = f"{many(found.windows, 'window')}, " if found.windows else ""  # a standing filter has none
    counted = windows + many(found.rows, "row")
    if found.differences or (not found.equal and not found.note):
        click.echo(f"{name}: DIFFERENT ({counted}), {len(found.differences)} differences")
        for difference in found.differences[:_SHOWN]:
            click.echo(f"  {difference}")
        return DIFFERENT
    if not found.equal:
        click.echo(f"{name}: not verified: {found.note}")
        return CANNOT_RUN
    click.echo(f"{name}: equal, {counted}" + (f" ({found.note})" if found.note else ""))
    return 0
