"""`weft explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from weft.commands.options import home_beside, program_argument, read
from weft.session import Session


@click.command("explain")
@program_argument
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(program: Path, queries: tuple[str, ...], form: str) -> None:
    """Show the plans of a program, what its queries share and what that saves. Needs no JVM.

    Without QUERY: the shared plan of the whole program. With: the logical plan of each, every line ending in
    its update pattern, and what it shares with the others.

    \b
    --format json:
      {"plans": {QUERY: [LINE, ...]},      logical plans
       "shared": {...}}                    streams with slices, feeds and taps; what sharing saves
    """
    session = Session(home=home_beside(program))
    session.sql(read(program), file=str(program))
    if form == "json":
        click.echo(json.dumps(_merged(session, queries), indent=2))
    else:
        click.echo("\n\n".join(str(session.explain(name)) for name in queries or (None,)))


def _merged(session: Session, queries: tuple[str, ...]) -> dict[str, Any]:
    """The explanations of all queries asked for as one: each plan, and the shared plan once."""
    explained = [json.loads(session.explain(name, format="json")) for name in queries or (None,)]
    plans = {name: plan for one in explained for name, plan in one["plans"].items()}
    return {**explained[0], "plans": plans}
