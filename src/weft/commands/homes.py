"""Finding the home that a verb is about when it is not named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from weft.commands.options import Directory
from weft.errors import RunError
from weft.log.paths import AnyPath

AROUND = Path(".weft")

home_of_answers_option = click.option(
    "--home",
    type=Directory(),
    metavar="DIR",
    help=f"The home of the program, a directory or a URL.  [default: the one under {AROUND} here]",
)


def find_home(given: AnyPath | None, suits: Callable[[Path], bool] = lambda home: True) -> AnyPath:
    """The home `given`, else the only one under `.weft` here that `suits`."""
    if given is not None:
        return given
    homes = sorted(path.parent for path in AROUND.glob("*/weft.json"))
    suiting = [home for home in homes if suits(home)]
    if len(suiting) == 1:
        return suiting[0]
    if not homes:
        raise RunError(
            "no-home", f"there is no home of a program under {AROUND} here", help="name it with --home DIR"
        )
    if not suiting:  # let the verb say what it misses, in the only home or in none
        return homes[0] if len(homes) == 1 else _choose(homes)
    return _choose(suiting)


def _choose(homes: list[Path]) -> Path:
    raise RunError(
        "several-homes",
        f"{len(homes)} programs have their home under {AROUND}",
        because=", ".join(map(str, homes)),
        help=f"name one of them: --home {homes[0]}",
    )
