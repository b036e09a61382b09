"""What several verbs have in common: the program file, the home, Spark's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from weft.errors import QueryError, RunError
from weft.log.paths import locate
from weft.log.remote import RemotePath
from weft.times import trigger

program_argument = click.argument(
    "program", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path), metavar="PROGRAM"
)


class Directory(click.Path):
    """A directory of this machine, or a URL that fsspec knows."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        place = locate(value)
        return place if isinstance(place, RemotePath) else super().convert(place, param, ctx)


home_option = click.option(
    "--home",
    type=Directory(),
    metavar="DIR",
    help="Where the program keeps its state and answers: a directory, or a URL such as s3://bucket/app.  "
    "[default: .weft/<name of PROGRAM> beside PROGRAM]",
)

master_option = click.option(
    "--master", metavar="URL", help="Spark master.  [default: that of spark-submit, else local[*]]"
)


def settings(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """`k=v` options as a mapping."""
    for one in given:
        if "=" not in one.strip("="):
            raise click.BadParameter(f"{one!r} is not of the form key=value", ctx=ctx, param=param)
    return {key.strip(): value.strip() for key, value in (one.split("=", 1) for one in given)}


conf_option = click.option(
    "--conf", metavar="K=V", multiple=True, callback=settings, help="A Spark setting; may be repeated."
)


class Interval(click.ParamType[str]):
    """A length of time such as `1s`, `250ms` or `1 minute`, as Spark's triggers want it."""

    name = "interval"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        found = trigger(str(value))
        if found is None:
            self.fail(f"{value!r} is no interval in whole milliseconds; write 1s, 250ms or 1min", param, ctx)
        return found


def read(program: Path) -> str:
    """The text of a program file."""
    try:
        return program.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(
            "not-text", f"{program} is not UTF-8 text (byte {error.start})", help="save it as UTF-8"
        ) from None
    except OSError as error:
        raise RunError("unreadable", f"{program} cannot be read: {error.strerror}") from None


def home_beside(program: Path) -> Path:
    return program.parent / ".weft" / program.stem
