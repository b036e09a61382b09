"""What weft claims of itself beside the others, and whether the measured results bear it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.measure import Claim
from benchmarks.race import Result

Results = Mapping[str, Result]


@dataclass(frozen=True, slots=True)
class Promise:
    """A number that the results of some workloads give, and its bound."""

    text: str
    measured: Callable[[Results], float]
    bound: float
    at_most: bool = False


def faster(workload: str, than: str) -> Callable[[Results], float]:
    """weft's rows per CPU-second over the other's; each counts the files it was given."""

    def ratio(results: Results) -> float:
        sides = results[workload].sides
        return sides["weft"].rows_per_cpu_second / sides[than].rows_per_cpu_second

    return ratio


def costs(workload: str, than: str, of: str = "weft") -> Callable[[Results], float]:
    """The CPU-seconds of weft, or of another, over those of `than`."""
    return lambda results: results[workload].sides[of].cpu / results[workload].sides[than].cpu


def answers_a_second(workload: str) -> Callable[[Results], float]:
    def rate(results: Results) -> float:
        side = results[workload].sides["weft"]
        return side.answers / side.wall

    return rate


PROMISES = (
    Promise(
        "One query, 60 s every 1 s: rows per CPU-second of native (goal 50)",
        faster("sliding-60", "native"),
        25,
    ),
    Promise(
        "One query, 600 s every 1 s: rows per CPU-second of native", faster("sliding-600", "native"), 200
    ),
    Promise("Ten queries: rows per CPU-second of ten native queries", faster("ten", "native"), 40),
    Promise(
        "Ten queries: rows per CPU-second of Flink's statement set (goal 10)", faster("ten-csv", "flink"), 5
    ),
    Promise("Ten queries: rows per CPU-second of the job by hand", faster("ten", "rival"), 2),
    Promise("100 queries: rows per CPU-second of the job by hand", faster("hundred-noop", "rival"), 6),
    Promise("100 queries to Parquet: CPU of one batch slicing", costs("hundred", "slicing"), 3.5, True),
    Promise("1000 queries: CPU of 100", costs("queries-1000", "weft_100"), 1.7, True),
    Promise("5000 queries: CPU of 100", costs("queries-5000", "weft_100"), 6, True),
    Promise("10,000 keys: rows per CPU-second of batch slicing", faster("keys-10000", "slicing"), 0.5),
    Promise("1,000,000 keys: rows per CPU-second of batch slicing", faster("keys-1000000", "slicing"), 0.5),
    Promise(
        "10,000 keys, cells on executors: CPU of cells in the driver",
        costs("keys-10000", "weft", of="weft_executors"),
        1.5,
        True,
    ),
    Promise("Answers a second into Parquet", answers_a_second("answers-many"), 2_000_000),
)


def claims(results: Results) -> list[Claim]:
    """The promises of which all that they need was measured, at full size."""
    results = {name: result for name, result in results.items() if result.full}
    found = []
    for promise in PROMISES:
        try:
            measured = promise.measured(results)
        except KeyError:  # a workload or a contestant that was not run
            continue
        found.append(Claim(promise.text, measured, promise.bound, promise.at_most))
    return found
