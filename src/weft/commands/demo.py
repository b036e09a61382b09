"""`weft demo`."""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import click

from weft.commands.options import conf_option, master_option
from weft.lang.parse import parse_program
from weft.lang.printer import print_statement
from weft.lang.statements import CreateQuery
from weft.log.paths import AnyPath
from weft.session import Session
from weft.terminal.figures import count, times
from weft.terminal.live import Live
from weft.terminal.progress import Interrupts, Plain, Progress, Ran, follow, summary

PROGRAM = "market.sql"
TRIGGER = "1000 milliseconds"

SHOWN = (
    "tape_10s", "vwap_10s", "candles_10s", "top_volume", "spread_10s", "imbalance_10s",
    "volume_venue_30s", "turnover_1m", "volatility_1m", "best_venue_1m", "active_symbols_10s", "block_tape",
    "jumps", "by_size_class_1m", "average_odd", "vwap_1m", "vwap_5m_blocks", "size_percentiles_5m",
    "one_sided", "rising", "last_trade", "tape_rate", "top_turnover", "imbalance_ratio_5m",
)  # fmt: skip
"""Queries on the board, the best first: a bit of everything that ticks."""


@click.command("demo")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=60, show_default=True, help="How long it runs."
)
@click.option(
    "--queries",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only N of the queries.  [default: all]",
)
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where its state and answers go.  [default: a temporary directory, kept]",
)
@master_option
@conf_option
def command(
    seconds: float, number: int | None, home: AnyPath | None, master: str | None, conf: dict[str, str]
) -> None:
    """Watch about a hundred queries over a generated market, on a live board.

    Ends by itself, or on Ctrl-C; then says where the answers are and what to try next. Without a terminal it
    prints a line a second.
    """
    text = some_queries(shipped().read_text(encoding="utf-8"), number)
    place = home or Path(tempfile.mkdtemp(prefix="weft-demo-"))
    with Interrupts() as interrupts, Session(home=place, master=master, conf=conf) as session:
        session.sql(text, file=PROGRAM)
        ran = follow(session, lambda: session.start(trigger=TRIGGER), _shown(session), interrupts, seconds)
    click.echo(ending(ran, place))


def shipped() -> Path:
    """The demo program as it is installed."""
    return Path(str(files("weft").joinpath("demo", PROGRAM)))


def some_queries(text: str, number: int | None) -> str:
    """The program with only so many of its queries, first of all those that the board shows."""
    if number is None:
        return text
    statements = parse_program(text, PROGRAM)
    names = [one.name for one in statements if isinstance(one, CreateQuery)]
    kept = set((*SHOWN, *(name for name in names if name not in SHOWN))[:number])
    wanted = [one for one in statements if not isinstance(one, CreateQuery) or one.name in kept]
    return ";\n".join(map(print_statement, wanted)) + ";\n"


def _shown(session: Session) -> Progress:
    if not sys.stderr.isatty():
        return Plain()
    return Live("market demo", session.program, session.home, SHOWN)


def ending(ran: Ran, home: AnyPath) -> str:
    """What was done, what sharing saved, where the answers are, and what to try next."""
    status = ran.status
    lines = [summary(ran)]
    if status.row_updates_shared and status.partials_shared:
        fewer = times(status.row_updates_apart / status.row_updates_shared)
        lines.append(
            f"sharing: {count(status.partials_shared)} partials, not {count(status.partials_apart)}; "
            f"{fewer} fewer updates per row"
        )
    query = max(status.queries, key=lambda one: (one.name in SHOWN, one.answers)).name
    lines += [
        f"answers: {home / 'results'}",
        "",
        "Try next:",
        f"  weft results {query} --home {home} --last 10",
        f"  weft explain {shipped()} {query}",
        f"  cp {shipped()} app.sql",
        "  weft run app.sql        after changing FROM to your own stream",
    ]
    return "\n".join(lines)
