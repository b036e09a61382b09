"""`weft`: the verbs, how errors are shown, and the exit codes.

A verb is a module of `weft.commands`, loaded when it is called, so that `weft --help` loads none of them.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from weft.errors import Bug, Errors, QueryError, RunError, WeftError

OK, WRONG_PROGRAM, USAGE, CANNOT_RUN, DIFFERENT, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130

VERBS = {
    "check": "Find all errors of a program at once.",
    "explain": "Show the plans of a program, what its queries share and what it costs.",
    "calibrate": "Measure what work takes on this machine, for the costs in explain.",
    "run": "Run a program.",
    "results": "Show the answers of a query.",
    "status": "Show where a program and its queries stand, and what they wait for.",
    "verify": "Recompute answers with plain Spark SQL and compare.",
    "test": "Run a program on given rows and compare with expected ones.",
    "demo": "Watch a hundred queries over a generated market.",
    "doctor": "Look at this machine: can weft run here?",
}


class Verbs(click.Group):
    """Loads verbs by name, and turns whatever they raise into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"weft.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None
        except Exception as error:
            told = in_our_words(error)
            show_error(told)
            raise click.exceptions.Exit(exit_code(told)) from None


@click.command(
    cls=Verbs,
    subcommand_metavar="VERB [ARGS]...",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
    Exit codes:
      0    all is well
      1    the program text is wrong
      2    the command line is wrong
      3    it cannot run here, or something stopped with an error
      4    `verify` or `test` found a difference
      70   a bug in weft
      130  interrupted (143: terminated)

    `weft VERB --help` tells more of a verb.
    """,
)
@click.version_option(package_name="weft", message="weft %(version)s")
def cli() -> None:
    """Hundreds of continuous SQL queries, woven into one Spark job."""


def main() -> None:
    cli(prog_name="weft")


def in_our_words(error: Exception) -> WeftError:
    """What weft raised, as it is; a package that is not there; and whatever we did not think of."""
    match error:
        case WeftError():
            return error
        case ModuleNotFoundError(name=str(name)) if not name.startswith("weft"):
            return RunError(
                "missing-package", f"the package {name} is not installed", help="run `weft doctor`"
            )
        case _:
            return Bug("unexpected", f"{type(error).__name__}: {error}")


def exit_code(error: WeftError) -> int:
    """By who can act: the author of the program, its operator, or us; of several errors the gravest."""
    match error:
        case Errors(errors=errors):
            return max(map(exit_code, errors), default=BUG)
        case QueryError():
            return WRONG_PROGRAM
        case Bug():
            return BUG
        case _:
            return CANNOT_RUN


def show_error(error: WeftError) -> None:
    """Its text on stderr, in colour on a terminal; a bug brings its traceback and asks to be reported."""
    bug = exit_code(error) == BUG
    if bug:
        click.echo(traceback.format_exc(), err=True)
    click.echo(paint(str(error)), err=True, color=colour(sys.stderr.isatty()))
    if bug:
        click.echo("This is a bug in weft. Please report it with the lines above and the program.", err=True)


def colour(terminal: bool) -> bool:
    return terminal and not os.environ.get("NO_COLOR")


def paint(text: str) -> str:
    """An error's text with its headline, underline and help marked in colour."""
    return "\n".join(map(_paint_line, text.split("\n")))


def _paint_line(line: str) -> str:
    if line.startswith("error[") and "]" in line:
        head, what = line.split("]", 1)
        return click.style(head + "]", fg="red", bold=True) + click.style(what, bold=True)
    gutter, bar, rest = line.partition(" | ")
    if bar and not gutter.strip() and rest.lstrip().startswith("^"):
        return gutter + bar + click.style(rest, fg="red")
    if line.startswith("  help: "):
        return click.style("  help:", fg="cyan", bold=True) + line.removeprefix("  help:")
    return line
