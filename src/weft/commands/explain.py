"""`weft explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

import click

from weft.commands.options import home_beside, home_option, program_argument, read
from weft.errors import RunError
from weft.log.paths import AnyPath
from weft.session import Session


class Positive(click.FloatRange):
    """A finite number above zero: a range of click's lets NaN pass."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


POSITIVE = Positive()


@click.command("explain")
@program_argument
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@home_option
@click.option("--rate", type=POSITIVE, metavar="N", help="Rows a second that each stream brings.")
@click.option("--groups", type=POSITIVE, metavar="N", help="Groups in each feed with keys.")
@click.option("--analyze", is_flag=True, help="Beside what is predicted, what the running program measures.")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Draw the shared plan into FILE instead.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), help="Of the text.  [default: text]")
def command(
    program: Path,
    queries: tuple[str, ...],
    home: AnyPath | None,
    rate: float | None,
    groups: float | None,
    analyze: bool,
    svg: Path | None,
    form: str | None,
) -> None:
    """Show the plans of a program, what its queries share, what that saves and what it costs. Needs no JVM.

    Without QUERY: the shared plan of the whole program. With: the logical plan of each, every line ending in
    its update pattern, and what it shares with the others.

    In a home where the program runs, or has run, the plan is the one it has there.

    Costs are predicted, CPU time for each second of stream. What the streams bring is what the program that
    runs in the home has counted during its last minute, else assumed, unless --rate and --groups say it. What
    work takes on this machine is as shipped until a first start or `weft calibrate` has measured it. With
    --analyze what the running program used stands beside what is predicted.

    \b
    --format json:
      {"plans": {QUERY: [LINE, ...]},      logical plans
       "shared": {...},                    streams with slices, feeds and taps; what sharing saves
       "shares": {QUERY: [{...}, ...]},    of queries that are named: each partial, and with whom
       "cost": {...},                      by level, query and way to share, in seconds
       "measured": {...}}                  with --analyze: both sides by level and query
    """
    if svg is not None and form is not None:
        raise click.UsageError("--svg draws a picture instead of a text in some --format: leave one out")
    session = Session(home=home or home_beside(program))
    session.sql(read(program), file=str(program))

    if svg is not None:
        drawn = session.explain(rate=rate, groups=groups, analyze=analyze).svg()
        return _write(svg, drawn)

    def explain(name: str | None, format: str) -> str:
        return str(session.explain(name, format, rate=rate, groups=groups, analyze=analyze))

    if form == "json":
        click.echo(json.dumps(_merged(explain, queries), indent=2))
    else:
        click.echo("\n\n".join(explain(name, "text") for name in queries or (None,)))


def _merged(explain: Callable[[str | None, str], str], queries: tuple[str, ...]) -> dict[str, Any]:
    """The explanations of all queries asked for as one: what is told of each, and the shared plan once."""
    if not queries:
        whole: dict[str, Any] = json.loads(explain(None, "json"))
        return whole
    explained = {name: json.loads(explain(name, "json")) for name in queries}
    plans = {name: plan for one in explained.values() for name, plan in one["plans"].items()}
    each = {what: {name: one[what] for name, one in explained.items()} for what in ("shares", "cost")}
    return {**explained[queries[0]], "plans": plans, **each}


def _write(path: Path, drawn: str) -> None:
    try:
        path.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise RunError(
            "unwritable", f"{path} cannot be written: {error.strerror}", help="name another file"
        ) from None
    click.echo(f"drawn into {path}")
