"""What do slices save where queries share a join? `python -m benchmarks.slices`

The experiments of the state-slice paper (VLDB 2006) with its settings, run a row at a time. A: three queries,
two of them behind a filter; rows held, and rows served a CPU-second, by slices, by one join for all (pull-up)
and by a parted stream (push-down). B: 12 to 36 queries without filters, cut at every window (Mem-Opt) or
where it is cheapest (CPU-Opt) by constants measured first. Rows held must be what the formulas say, up to the
noise of random arrivals; the paper's own words stand beside the rest. Ways take turns, and medians are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import median
from typing import Protocol

import click

from benchmarks.strategies.shared import PulledUp, PushedDown
from benchmarks.strategies.slicechain import SliceChain
from benchmarks.strategies.windowjoin import Pair, Query, Row
from weft.collecting import uncollected
from weft.share.chain import Arrivals, ChainConstants, Chained, Reader, cpu_opt, mem_opt
from weft.times import SECOND

WINDOWS = {"Mostly-Small": (5, 10, 30), "Uniform": (10, 20, 30), "Mostly-Large": (20, 25, 30)}
LONGEST = 30  # seconds, of all windows
PASSES = (0.2, 0.5, 0.8)
MATCHES = (0.025, 0.1, 0.4)


class Joins(Protocol):
    """A way to join for several queries."""

    @property
    def rows(self) -> int: ...
    @property
    def answers(self) -> list[list[Pair]]: ...
    def feed(self, row: Row) -> None: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of experiment A: rows a second and side, windows in seconds, parts that pass and match."""

    rate: float
    windows: tuple[int, int, int]
    passes: float
    match: float

    def expected(self) -> dict[str, float]:
        """Rows held, by the formulas."""
        short, _, long = self.windows
        each = {
            "slices": 2 * short + (1 + self.passes) * (long - short),
            "pull-up": 2.0 * long,
            "push-down": (2 - self.passes) * short + (1 + self.passes) * long,
        }
        return {way: self.rate * rows for way, rows in each.items()}

    def ways(self) -> dict[str, Joins]:
        short, middle, long = self.windows
        queries = [Query(short), Query(middle, self._wanted), Query(long, self._wanted)]
        return {
            "slices": SliceChain(self.windows, queries, matches),
            "pull-up": PulledUp(queries, matches),
            "push-down": PushedDown(short, (middle, long), self._wanted, matches),
        }

    def _wanted(self, row: Row) -> bool:
        return bool(row.value[1] < self.passes)  # type: ignore[index]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run went: rows held on the average once windows are full, rows a CPU-second, answers."""

    held: float
    served: float
    answers: list[int]


def matches(left: Row, right: Row) -> bool:
    return bool(left.value[0] == right.value[0])  # type: ignore[index]


def arriving(rate: float, seconds: float, match: float, seed: int) -> list[Row]:
    """Rows of both sides, as many of which match as asked; times between them are exponential."""
    random, at = Random(seed), 0.0
    rows: list[Row] = []
    values = round(1 / match)
    while (at := at + random.expovariate(2 * rate)) < seconds:
        value = (random.randrange(values), random.random())
        rows.append(Row(random.randrange(2), at, len(rows), value))
    return rows


@uncollected()
def run(way: Joins, rows: Sequence[Row], full_at: float) -> Ran:
    """Feed all rows; rows held are looked at with each row that comes after windows have filled."""
    held, looks = 0, 0
    began = time.process_time()
    for row in rows:
        way.feed(row)
        if row.at >= full_at:
            held, looks = held + way.rows, looks + 1
    seconds = time.process_time() - began
    return Ran(held / max(looks, 1), len(rows) / seconds, [len(answers) for answers in way.answers])


def raced(make: Callable[[], Mapping[str, Joins]], rows: Sequence[Row], rounds: int) -> dict[str, float]:
    """Rows that each way serves a CPU-second, in the median; all ways answer the same."""
    served: dict[str, list[float]] = {}
    for _ in range(rounds):
        ran = {name: run(way, rows, LONGEST) for name, way in make().items()}
        assert len({tuple(each.answers) for each in ran.values()}) == 1
        for name, each in ran.items():
            served.setdefault(name, []).append(each.served)
    return {name: median(each) for name, each in served.items()}


def held_table(rate: float, seconds: float) -> Iterator[str]:
    """Experiment A, Figure 17: rows held, beside the formulas."""
    for name, windows in WINDOWS.items():
        for passes in PASSES:
            setting = Setting(rate, windows, passes, 0.1)
            rows = arriving(rate, seconds, setting.match, seed=round(1000 * passes))
            found = {way: run(joins, rows, windows[-1]).held for way, joins in setting.ways().items()}
            expected = setting.expected()
            told = "".join(f"{found[way]:>10.0f} ({expected[way]:.0f})" for way in found)
            saved = [1 - found["slices"] / found[way] for way in ("pull-up", "push-down")]
            yield f"{name:13} {passes:4}{told}   saved {saved[0]:6.1%} {saved[1]:6.1%}"


def served_table(rates: Sequence[float], seconds: float, rounds: int) -> Iterator[str]:
    """Experiment A, Figure 18: rows served a CPU-second."""
    for rate in rates:
        for match in MATCHES:
            setting = Setting(rate, WINDOWS["Uniform"], 0.5, match)
            rows = arriving(rate, seconds, match, seed=1)
            served = raced(setting.ways, rows, rounds)
            told = "".join(f"{each:>12.0f}" for each in served.values())
            gains = [served["slices"] / served[way] - 1 for way in ("pull-up", "push-down")]
            yield f"{rate:6.0f} {match:6}{told}   more {gains[0]:+7.1%} {gains[1]:+7.1%}"


def windows_of(name: str, count: int) -> list[float]:
    """The windows of experiment B; for more than 12 queries in the same proportions."""
    match name:
        case "Uniform":
            return [30 * (n + 1) / count for n in range(count)]
        case "Mostly-Small":
            return [10 * (n + 1) / (count - 2) for n in range(count - 2)] + [20, 30]
        case _:
            half = count // 2
            return [6 * (n + 1) / half for n in range(half)] + [24 + 6 * (n + 1) / half for n in range(half)]


def measured() -> ChainConstants:
    """What the chain takes for a row at a slice, for a pair looked at and for a result tested, in seconds."""
    rows = arriving(40, 60, 0.05, seed=2)
    whole = SliceChain([30], [Query(30)], _never)
    cut = SliceChain([30 * (n + 1) / 30 for n in range(30)], [Query(30)], _never)
    one, many = _seconds(whole, rows), _seconds(cut, rows)
    steps = cut.counters.steps - whole.counters.steps
    step = max(many - one, 0.0) / steps
    compare = max(one - step * whole.counters.steps, 0.0) / whole.counters.probes
    routed = SliceChain([30], [Query(29 + n / 10) for n in range(1, 11)], matches)
    told = SliceChain([30], [Query(30)], matches)
    extra = _seconds(routed, rows) - _seconds(told, rows)
    return ChainConstants(
        purge=0, compare=compare, operator=2 * step, route=max(extra, 0.0) / routed.counters.routes
    )


@uncollected()
def _seconds(chain: SliceChain, rows: Sequence[Row]) -> float:
    began = time.process_time()
    for row in rows:
        chain.feed(row)
    return time.process_time() - began


def _never(*_: Row) -> bool:
    return False


def cut_table(rate: float, seconds: float, counts: Sequence[int], rounds: int) -> Iterator[str]:
    """Experiment B, Figure 19: cut everywhere, or where it is cheapest."""
    constants = measured()
    rows = arriving(rate, seconds, 0.025, seed=3)
    for name in ("Uniform", "Mostly-Small", "Small-Large"):
        for count in counts:
            windows = windows_of(name, count)
            queries = [Query(window) for window in windows]
            readers = [Reader(round(window * SECOND)) for window in windows]
            costs = Chained(readers, Arrivals(rate, rate, 0.025), constants)
            every, best = ([end / SECOND for end in chain.ends] for chain in (mem_opt(costs), cpu_opt(costs)))
            cuts = f"{name:13} {count:4} {len(every):7} {len(best):7}"
            ends = {"Mem-Opt": every, "CPU-Opt": best}
            served = raced(partial(_chains, ends, queries), rows, rounds)
            gain = served["CPU-Opt"] / served["Mem-Opt"] - 1
            yield f"{cuts}{served['Mem-Opt']:12.0f}{served['CPU-Opt']:12.0f} {gain:+8.1%}"


def _chains(ends: Mapping[str, Sequence[float]], queries: Sequence[Query]) -> dict[str, Joins]:
    return {way: SliceChain(each, queries, matches) for way, each in ends.items()}


@click.command()
@click.option("--rate", default=20.0, show_default=True, help="rows a second and side, for rows held")
@click.option("--rates", default="20,40", show_default=True, help="rows a second and side, for rows served")
@click.option("--seconds", default=90.0, show_default=True, help="of input, as the paper has it")
@click.option("--queries", default="12,24,36", show_default=True, help="of experiment B")
@click.option("--rounds", default=3, show_default=True, help="of which the median is told")
def main(rate: float, rates: str, seconds: float, queries: str, rounds: int) -> None:
    """Both experiments, as text."""
    click.echo(f"A. rows held, found (by formula), {rate:g} rows/s; the paper: slices hold least, by 20-30 %")
    click.echo(f"{'':19}{'slices':>12}{'pull-up':>16}{'push-down':>16}   over pull-up, push-down")
    for line in held_table(rate, seconds):
        click.echo(line)
    click.echo("\nA. rows served a CPU-second, windows 10, 20, 30, half pass; the paper: up to 40 % more")
    click.echo(
        f"{'rate':>6} {'match':>6}{'slices':>12}{'pull-up':>12}{'push-down':>12}   over pull-up, push-down"
    )
    for line in served_table([float(each) for each in rates.split(",")], seconds, rounds):
        click.echo(line)
    click.echo(
        "\nB. slices, and rows served a CPU-second; the paper: CPU-Opt 20-30 % more, more with more queries"
    )
    click.echo(f"{'':18} {'Mem-Opt':>7} {'CPU-Opt':>7}{'Mem-Opt':>12}{'CPU-Opt':>12}")
    for line in cut_table(rate, seconds, [int(each) for each in queries.split(",")], rounds):
        click.echo(line)


if __name__ == "__main__":
    main()
