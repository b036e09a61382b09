"""What do update patterns buy in weft's own engine? `python -m benchmarks.upa`

The queries of Golab's thesis (2006, 3.6) over traffic like that of its trace, as in `benchmarks.patterns`,
carried out by the operators that answer queries, whole batches at a time and without Spark: by update pattern
(UPA), all by negative tuples (NT), and direct, held in one list (DIRECT; it has no negation).
Windows are filled first; told are CPU-seconds for 1000 rows after that, and how many rows are held. NT tells
when answers begin, the others also when they end.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from statistics import median

import click
import numpy as np
import pyarrow as pa

from benchmarks.intake import taken_in
from weft.engine.relations.evaluate import without_spark
from weft.engine.relations.state import Relations
from weft.engine.windows import Reach
from weft.kernels.arrow import TIME
from weft.optimize.pipeline import optimize_program
from weft.share.build import build
from weft.share.relations.strategy import Strategy
from weft.testing.harness import bound
from weft.times import SECOND

SOURCES, DESTINATIONS = 2000, 10  # of each source: about ten times as many pairs as sources
PROTOCOLS = {"telnet": 0.17, "ftp": 0.05, "smtp": 0.4, "nntp": 0.38}
LINKS = ("link1", "link2", "link3")
STREAM = """
CREATE STREAM {name} (source BIGINT, destination BIGINT, protocol STRING, at TIMESTAMP)
  TIMESTAMP BY at DELAY 0 SECONDS FROM parquet OPTIONS ('path' = 'none');
"""
WAYS = {"UPA": Strategy.PATTERNS, "NT": Strategy.NEGATIVE, "DIRECT": Strategy.DIRECT}


@dataclass(frozen=True, slots=True)
class Question:
    """A query of the thesis, and what it says of it; `{w}` is the window."""

    name: str
    sql: str
    thesis: str
    strict: bool = False


QUESTIONS = (
    Question("Q1 join, ftp",
             "SELECT x.source, x.destination AS a, y.destination AS b FROM link1 {w} x JOIN link2 {w} y "
             "ON x.source = y.source WHERE x.protocol = 'ftp' AND y.protocol = 'ftp'",
             "UPA nearly 2x faster than both for large windows"),
    Question("Q1 join, telnet",
             "SELECT x.source, x.destination AS a, y.destination AS b FROM link1 {w} x JOIN link2 {w} y "
             "ON x.source = y.source WHERE x.protocol = 'telnet' AND y.protocol = 'telnet'",
             "DIRECT slowest by far; UPA up to 10x faster than NT"),
    Question("Q2 distinct source", "SELECT DISTINCT source FROM link1 {w}",
             "UPA about 10x faster than both"),
    Question("Q2 distinct pairs", "SELECT DISTINCT source, destination FROM link1 {w}",
             "UPA about 2x faster than NT; DIRECT poor"),
    Question("Q3 negation", "SELECT source FROM link1 {w} EXCEPT ALL SELECT source FROM link2 {w}",
             "UPA slightly faster than NT up to about 10,000 rows, slower beyond", strict=True),
    Question("Q4 negation and join",
             "SELECT x.source, x.destination AS a, z.destination AS b FROM link1 {w} x JOIN link3 {w} z "
             "ON x.source = z.source WHERE z.protocol = 'ftp' "
             "AND NOT EXISTS (SELECT * FROM link2 {w} y WHERE y.source = x.source)",
             "UPA fastest for large windows, by where the negation is done", strict=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """Of the rows that come once windows are full."""

    seconds: float  # of CPU time, for 1000 rows: the median over batches
    answers: float  # for each row
    held: int


class Feeder:
    """One query over links that bring a row a second each, by one strategy."""

    def __init__(self, sql: str, window: int, strategy: Strategy, seed: int) -> None:
        text = "".join(STREAM.format(name=name) for name in LINKS)
        query = sql.replace("{w}", f"[RANGE {window} SECONDS]")
        program = optimize_program(bound(f"{text}CREATE QUERY q AS {query};"))
        plan = build(program)
        self._streams = plan.streams
        self.relations = Relations(without_spark, strategy)
        self.relations.adopt(plan, program, {})
        self._rng = np.random.default_rng(seed)
        self._now = 0

    def made(self, rows: int) -> dict[str, pa.Table]:
        """The next rows of every link that the query reads, as level 1 hands them on."""
        tables = {
            each.stream.name: taken_in(each, _trace(self._rng, self._now, rows)) for each in self._streams
        }
        self._now += rows
        return tables

    def step(self, tables: dict[str, pa.Table]) -> int:
        """How many answers they make."""
        for name, table in tables.items():
            self.relations.fold(name, self._now, table)
        reach = dict.fromkeys(tables, Reach(watermark=self._now * SECOND))
        told = self.relations.answer(reach, dict.fromkeys(tables, (self._now - 1) * SECOND))
        return sum(table.num_rows for table in told.values())


def _trace(rng: np.random.Generator, first: int, rows: int) -> pa.Table:
    """Connections: a few sources make most of them, each to a few destinations."""
    weights = 1 / np.arange(1, SOURCES + 1) ** 0.8
    sources = rng.choice(SOURCES, rows, p=weights / weights.sum())
    protocols = rng.choice(len(PROTOCOLS), rows, p=list(PROTOCOLS.values()))
    return pa.table(
        {
            "source": sources,
            "destination": sources * DESTINATIONS + rng.integers(0, DESTINATIONS, rows),
            "protocol": pa.array(list(PROTOCOLS)).take(pa.array(protocols)),
            "at": pa.array(np.arange(first, first + rows) * SECOND).cast(TIME),
        }
    )


def measure(sql: str, window: int, strategy: Strategy, batch: int, batches: int) -> Measured:
    """Fill the windows, then take the time."""
    feeder = Feeder(sql, window, strategy, seed=window)
    for first in range(0, window, 10 * batch):
        feeder.step(feeder.made(min(10 * batch, window - first)))
    feeder.step(feeder.made(batch))
    spent, answers = [], 0
    for _ in range(batches):
        tables = feeder.made(batch)
        began = time.process_time()
        answers += feeder.step(tables)
        spent.append((time.process_time() - began) / len(tables) / batch * 1000)
    return Measured(median(spent), answers / batches / batch / len(tables), feeder.relations.rows)


@click.command()
@click.option("--windows", default="2000,20000,200000", show_default=True, help="seconds, and rows a link")
@click.option("--batch", default=1000, show_default=True, help="rows of a link that come together")
@click.option("--batches", default=10, show_default=True, help="that are measured")
@click.option("--only", default="", help="questions whose names begin so")
def main(windows: str, batch: int, batches: int, only: str) -> None:
    """All questions, as text."""
    click.echo(f"batches of {batch} rows; load {os.getloadavg()[0]:.1f}")
    for question in QUESTIONS:
        if not question.name.startswith(only):
            continue
        click.echo(f"{question.name}; thesis: {question.thesis}")
        for window in map(int, windows.split(",")):
            ways = [name for name in WAYS if not (question.strict and name == "DIRECT")]
            found = {name: measure(question.sql, window, WAYS[name], batch, batches) for name in ways}
            for name, each in found.items():
                click.echo(
                    f"  {window:>7} {name:7}{1000 * each.seconds:9.2f} ms {each.answers:8.2f} answers a row"
                    f" {each.held:9} held   {each.seconds / found['UPA'].seconds:6.1f} of UPA"
                )


if __name__ == "__main__":
    main()
