"""`weft doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from weft.cli import CANNOT_RUN
from weft.commands.options import Directory, conf_option
from weft.doctor import Finding, examine
from weft.log.paths import AnyPath

_COLOURS = {"ok": "green", "warn": "yellow", "bad": "red"}


@click.command("doctor")
@click.option(
    "--home", type=Directory(), default=Path(".weft"), show_default=True, metavar="DIR",
    help="The home to look at.",
)  # fmt: skip
@conf_option
def command(home: AnyPath, conf: dict[str, str]) -> None:
    """Look at this machine: can weft run here?

    Java, Python, packages, memory, limits, disk and name resolution, a line each: ok, warn or bad, and how to
    mend it. Exit code 3 if something is bad.
    """
    findings = examine(home, conf)
    for finding in findings:
        click.echo(line(finding))
    if any(finding.state == "bad" for finding in findings):
        raise click.exceptions.Exit(CANNOT_RUN)


def line(finding: Finding) -> str:
    """`ok    Java          17.0.19  /usr/bin/java`, and how to mend it in a second line."""
    state = click.style(f"{finding.state:5}", fg=_COLOURS[finding.state], bold=finding.state != "ok")
    text = f"{state} {finding.name:17} {finding.text}"
    return f"{text}\n{'':6}{'':17} fix: {finding.fix}" if finding.fix else text
