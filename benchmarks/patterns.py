"""What do update patterns buy? `python -m benchmarks.patterns`

The queries of Golab's thesis (2006, 3.6) over traffic like that of its trace: links that carry connections
with a source, a destination and a protocol, one row a link and unit of time. Each plan runs a row at a time
by negative tuples (NT), direct (DIRECT) and by update pattern (UPA); told are milliseconds of CPU time for
1000 rows once windows are full, messages and rows looked at for each row, and the most rows kept; beside them
what the thesis says. Times are of these executors, in Python; messages and rows are of the algorithms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import click

from benchmarks.strategies.engines import ByPattern, Direct, NegativeTuples, Strategy
from benchmarks.strategies.lives import Distinct, Join, Minus, Plan, Values, Window, streams

SOURCES, DESTINATIONS = 2000, 10  # of each source: about ten times as many pairs as sources
PROTOCOLS = {"telnet": 0.17, "ftp": 0.05, "smtp": 0.4, "nntp": 0.38}
LOOKS = 50  # rows after which it is looked how many are kept
Rows = Sequence[tuple[str, Values, float]]


@dataclass(frozen=True)
class Way:
    """A strategy with its settings."""

    name: str
    make: Callable[[Plan], Strategy]


@dataclass(frozen=True)
class Question:
    """A query of the thesis, in one or more plans, and what it says of it."""

    name: str
    plans: Callable[[float], dict[str, Plan]]
    ways: tuple[Way, ...]
    thesis: str


@dataclass(frozen=True, slots=True)
class Measured:
    """Of rows that come once windows are full."""

    milliseconds: float  # of CPU time, for 1000 rows
    messages: float  # for each row
    looked_at: float  # rows, for each row
    most_rows: int
    answer: int  # rows of the last answer


NT = Way("NT", NegativeTuples)
NT_10 = Way("NT, 10 buckets", lambda plan: NegativeTuples(plan, buckets=10))  # as the thesis has it
DIRECT = Way("DIRECT", Direct)
UPA = Way("UPA", ByPattern)
UPA_50 = Way("UPA, 50 partitions", lambda plan: ByPattern(plan, 50))
UPA_NT = Way("UPA, NT above", lambda plan: ByPattern(plan, often=True))
ALL = (NT, NT_10, DIRECT, UPA)
OF_STRICT = (NT, NT_10, UPA, UPA_NT)


def trace(links: int, length: int, seed: int) -> list[tuple[str, Values, float]]:
    """Connections: a few sources make most of them, each to a few destinations."""
    random = Random(seed)
    weights = list(accumulate(1 / (n + 1) ** 0.8 for n in range(SOURCES)))
    names = list(PROTOCOLS)
    shares = list(accumulate(PROTOCOLS.values()))
    rows: list[tuple[str, Values, float]] = []
    for t in range(length):
        for link in range(links):
            source = random.choices(range(SOURCES), cum_weights=weights)[0]
            destination = source * DESTINATIONS + random.randrange(DESTINATIONS)
            protocol = random.choices(names, cum_weights=shares)[0]
            rows.append((f"link{link + 1}", (source, destination, protocol), float(t)))
    return rows


def link(number: int, length: float, protocol: str | None = None) -> Window:
    where = None if protocol is None else lambda values: values[2] == protocol
    return Window(f"link{number}", length, where)


def _join(protocol: str) -> Callable[[float], dict[str, Plan]]:
    return lambda length: {"": Join(link(1, length, protocol), link(2, length, protocol))}


def _both(length: float) -> dict[str, Plan]:
    ftp = link(3, length, "ftp")
    below = Join(Minus(link(1, length), link(2, length)), ftp)
    above = Minus(Join(link(1, length), ftp), link(2, length))
    return {"join up": below, "negation up": above}


QUESTIONS = (
    Question("Q1 join, ftp", _join("ftp"), ALL,
             "UPA nearly 2x faster than both for large windows"),
    Question("Q1 join, telnet", _join("telnet"), (*ALL, UPA_50),
             "DIRECT slowest by far; UPA with 50 partitions up to 10x faster than NT"),
    Question("Q2 distinct source", lambda length: {"": Distinct(link(1, length), (0,))}, ALL,
             "UPA about 10x faster than both, up to 100x less space"),
    Question("Q2 distinct pairs", lambda length: {"": Distinct(link(1, length), (0, 1))}, ALL,
             "UPA about 2x faster than NT (with weak elimination); DIRECT poor"),
    Question("Q3 negation", lambda length: {"": Minus(link(1, length), link(2, length))}, OF_STRICT,
             "UPA slightly faster than NT up to about 10,000 rows, slower beyond; 40 % leave early"),
    Question("Q4 negation and join", _both, OF_STRICT,
             "NT(join up) beats NT(negation up); UPA(negation up) fastest for large windows"),
)  # fmt: skip


def measure(way: Way, plan: Plan, rows: Rows, full_at: float) -> Measured:
    """Run a plan over all rows; what counts are those after `full_at`."""
    strategy = way.make(plan)
    filling = [row for row in rows if row[2] < full_at]
    most = 0
    for number, row in enumerate(filling):
        strategy.feed(*row)
        if number % LOOKS == 0:
            most = max(most, strategy.rows)
    messages, looked_at = strategy.counts.messages, strategy.touches
    later = rows[len(filling) :]
    began = time.process_time()
    for row in later:
        strategy.feed(*row)
    seconds = time.process_time() - began
    return Measured(
        1e6 * seconds / len(later),
        (strategy.counts.messages - messages) / len(later),
        (strategy.touches - looked_at) / len(later),
        max(most, strategy.rows),
        strategy.answer(rows[-1][2]).total(),
    )


def early(plan: Plan, rows: Rows) -> float:
    """Which part of the rows that a strict plan told were taken back before their time."""
    strategy = ByPattern(plan)
    for row in rows:
        strategy.feed(*row)
    return strategy.view_given[True] / max(strategy.view_given[False], 1)


def lines(question: Question, lengths: Sequence[int], after: int) -> Iterator[str]:
    """All ways and plans of a question, by window."""
    yield f"{question.name}; thesis: {question.thesis}"
    for length in lengths:
        plans = question.plans(length)
        used = {stream for plan in plans.values() for stream in streams(plan)}
        rows = [row for row in trace(3, length + after, seed=length) if row[0] in used]
        answers = set()
        for place, plan in plans.items():
            for way in question.ways:
                found = measure(way, plan, rows, length)
                answers.add(found.answer)
                name = f"{way.name} ({place})" if place else way.name
                yield (
                    f"  {length:>7} {name:28}{found.milliseconds:9.1f} ms {found.messages:9.2f} messages"
                    f" {found.looked_at:10.2f} looked at {found.most_rows:9} kept"
                )
        assert len(answers) == 1, "all ways answer the same"
        if question.name.startswith("Q3"):
            yield f"  {length:>7} rows taken back before their time: {early(plan, rows):.0%}"


@click.command()
@click.option("--windows", default="500,2000,5000", show_default=True, help="units of time, and rows a link")
@click.option("--after", default=1000, show_default=True, help="units of time that are measured")
@click.option("--only", default="", help="questions whose names begin so")
def main(windows: str, after: int, only: str) -> None:
    """All questions, as text."""
    for question in QUESTIONS:
        if question.name.startswith(only):
            for line in lines(question, [int(each) for each in windows.split(",")], after):
                click.echo(line)


if __name__ == "__main__":
    main()
