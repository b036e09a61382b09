"""Do slices of their own pay for groups of queries? `python -m benchmarks.woven`

    shared     all windows come out of one state, cut at the edges of all of them
    woven      groups of queries, as the weaver merges them, each with a state cut at its own edges only; the
               fine cells of a batch are folded into every group
    apart      every query by itself

The real kernels over the same cells, in turn, without Spark: what differs is what becomes of the cells.
Answers are compared; CPU-seconds for an hour of stream, medians.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import click
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.windows import due, needed_from, widest_gap
from weft.kernels.columns import ColumnSpec
from weft.kernels.state import FeedState
from weft.lang.statements import WindowSpec
from weft.share.slicing import Pair, pairs_of
from weft.share.weave.classes import EdgeClass, edge_classes
from weft.share.weave.history import history_of
from weft.share.weave.points import points_of
from weft.times import SECOND

Ints = npt.NDArray[np.int64]
PRESENT = ColumnSpec("n", "count", None, None)
STEP = 30 * SECOND  # of stream


@dataclass(frozen=True, slots=True)
class Program:
    """Queries of one aggregate over so many groups; `seconds` of stream are measured, after as many."""

    name: str
    windows: tuple[WindowSpec, ...]
    function: str
    keys: int
    seconds: int


@dataclass(slots=True)
class Spent:
    """CPU-seconds, and what came out."""

    fold: float = 0.0
    final: float = 0.0
    total: int = 0  # of all answers: two plans that answer alike have the same

    @property
    def both(self) -> float:
        return self.fold + self.final


def odd(count: int, shortest: int, longest: int) -> tuple[WindowSpec, ...]:
    """Windows of any number of milliseconds, one in some 20 to 60 seconds."""
    random = np.random.default_rng(5)
    ranges = random.integers(shortest * 1000, longest * 1000, count)
    return tuple(
        WindowSpec(int(r) * 1000, int(s) * 1000)
        for r, s in zip(ranges, random.integers(20_000, 60_000, count))
    )


def clock(count: int) -> tuple[WindowSpec, ...]:
    random = np.random.default_rng(5)
    slides = random.choice([5, 10, 15, 20, 30, 60], count)
    return tuple(
        WindowSpec(int(s * n) * SECOND, int(s) * SECOND)
        for s, n in zip(slides, random.integers(5, 30, count))
    )


def programs() -> Iterator[Program]:
    yield Program("40 clock-like, MAX, 500 groups", clock(40), "max", 500, 900)
    yield Program("40 odd of 5 to 15 min, SUM, 500 groups", odd(40, 300, 900), "sum_int", 500, 900)
    yield Program("40 odd of 5 to 15 min, MAX, 30 groups", odd(40, 300, 900), "max", 30, 900)
    yield Program("40 odd of 5 to 15 min, MAX, 500 groups", odd(40, 300, 900), "max", 500, 900)
    yield Program("100 odd of 30 to 60 min, MAX, 200 groups", odd(100, 1800, 3600), "max", 200, 900)
    yield Program("100 odd of 30 to 60 min, MAX, one group", odd(100, 1800, 3600), "max", 1, 900)


def partitions(classes: Sequence[EdgeClass]) -> dict[str, tuple[tuple[int, ...], ...]]:
    """One group, as many as the weaver leaves after some merges, and all apart."""
    history = history_of(classes, points_of(classes))
    found = {"shared": history.partition(len(classes) - 1)}
    for count in (2, 4, 8, 16):
        found[f"woven into {count}"] = history.partition(len(classes) - count)
    return found | {"apart": history.partition(0)}


def run(program: Program, groups: Sequence[Sequence[WindowSpec]]) -> Spent:
    """Fold the cells of each step into the states, and answer what is due."""
    spent, column = Spent(), ColumnSpec("v", program.function, "int", None)
    states = [FeedState(1) for _ in groups]
    cuts = [sorted(set().union(*map(pairs_of, group))) for group in groups]
    longest = max(window.range for window in program.windows)
    for end, fine, keys, parts in steps(program, longest, column):
        counted = spent if end > longest else Spent()
        for state, group, cut in zip(states, groups, cuts, strict=True):
            began = time.thread_time()
            slices = fine if len(groups) == 1 else _floor(fine, cut)
            state.fold(np.repeat(slices, program.keys), keys, parts)
            folded = time.thread_time()
            counted.total += _answer(state, group, column, end)
            counted.fold += folded - began
            counted.final += time.thread_time() - folded
    return spent


def steps(
    program: Program, longest: int, column: ColumnSpec
) -> Iterator[tuple[int, Ints, list[pa.Array], dict[ColumnSpec, dict[str, pa.Array]]]]:
    """For each step its end, its fine slices, and the cells of all keys in each of them."""
    random, last = np.random.default_rng(1), longest + program.seconds * SECOND
    fine = _edges(sorted(set().union(*map(pairs_of, program.windows))), last)
    for end in range(STEP, last + 1, STEP):
        mine = fine[(fine >= end - STEP) & (fine < end)]
        cells = len(mine) * program.keys
        keys = [pa.array(np.tile(np.arange(program.keys), len(mine)))]
        values = pa.array(random.integers(0, 1 << 30, cells).astype(np.int32))
        yield end, mine, keys, {PRESENT: {"": pa.array(np.ones(cells, np.int64))}, column: {"": values}}


def _answer(state: FeedState, group: Sequence[WindowSpec], column: ColumnSpec, end: int) -> int:
    total, gap = 0, widest_gap(state.slices())
    for window in group:
        windows = due(state.slices(), window.range, window.slide, 0, end - STEP, end, gap=gap)
        if len(windows):
            made = state.answer(windows.starts, windows.ends, PRESENT, [column])
            total += int(np.asarray(made.values[column][0]).sum())
    state.expire(min(needed_from(window.range, window.slide, 0, end) for window in group))
    return total


def _edges(pairs: Sequence[Pair], upto: int) -> Ints:
    return np.unique(np.concatenate([np.arange(phase, upto, slide) for slide, phase in pairs]))


def _floor(times: Ints, pairs: Sequence[Pair]) -> Ints:
    found: Ints = np.max([times - (times - phase) % slide for slide, phase in pairs], axis=0)
    return found


@click.command()
@click.option("--repeat", default=3, show_default=True)
def main(repeat: int) -> None:
    """Compare one state for all with states of groups."""
    for program in programs():
        classes = edge_classes(program.windows, [1.0] * len(program.windows))
        plans = partitions(classes)
        runs: dict[str, list[Spent]] = {name: [] for name in plans}
        for _ in range(repeat):
            for name, partition in plans.items():
                groups = [
                    [program.windows[m] for at in part for m in classes[at].members] for part in partition
                ]
                runs[name].append(run(program, groups))
        if len({spent.total for each in runs.values() for spent in each}) > 1:
            raise click.ClickException("the plans do not answer alike")
        _show(program, runs)


def _show(program: Program, runs: dict[str, list[Spent]]) -> None:
    click.echo(f"\n{program.name}")
    click.echo(f"  {'':<14}{'fold':>8}{'finals':>8}{'both':>8}   against shared: finals, both")
    hour = 3600 / program.seconds
    base = {part: median(getattr(one, part) for one in runs["shared"]) for part in ("final", "both")}
    for name, each in runs.items():
        fold, final, both = (median(getattr(one, part) for one in each) for part in ("fold", "final", "both"))
        click.echo(
            f"  {name:<14}{fold * hour:>8.2f}{final * hour:>8.2f}{both * hour:>8.2f}"
            f"{base['final'] / final:>18.2f}{base['both'] / both:>8.2f}"
        )


if __name__ == "__main__":
    main()
