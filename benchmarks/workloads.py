"""The table of all workloads, by question.

At full size there are 10M rows in 10 files over an hour; a smaller race is over a shorter time, so that as
many rows fall into a slice. What a slow contestant is given is stated as files: `window()` copies every row
range/slide times, and ten queries of it do so ten times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.data import Data
from benchmarks.programs import WindowQuery, draw
from benchmarks.workload import Workload

STREAMS = ("weft", "native", "rival", "duck")
SCANS = ("spark_scan", "flink_scan", "duck_scan")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a race is."""

    rows: int = 10_000_000
    files: int = 10

    def data(self, keys: int, **other: object) -> Data:
        span = max(600, 3600 * self.rows // 10_000_000)
        settings = {"rows": self.rows, "files": self.files, "span": span} | other
        return Data(keys=keys, **settings)  # type: ignore[arg-type]  # of mixed types


def all_workloads(sizes: Sizes) -> Mapping[str, list[Workload]]:
    """Every question with its workloads."""
    return {
        "sliding": _sliding(sizes),
        "ten": _ten(sizes),
        "hundred": _hundred(sizes),
        "thousand": _thousand(sizes),
        "keys": _keys(sizes),
        "batches": _batches(sizes),
        "answers": _answers(sizes),
        "disorder": _disorder(sizes),
        "nexmark": _nexmark(sizes),
    }


def find(name: str, sizes: Sizes) -> Workload:
    """The workload of that name."""
    every = (workload for several in all_workloads(sizes).values() for workload in several)
    return next(workload for workload in every if workload.name == name)


def _sliding(sizes: Sizes) -> list[Workload]:
    """One query with a small slide."""
    found = []
    for width, parts in ((60, {"native": 2}), (600, {"native": 1, "rival": 1})):
        found.append(
            Workload(
                f"sliding-{width}",
                f"One query of {width} s every 1 s, 1000 keys",
                sizes.data(1000),
                (WindowQuery("one", "AVG", "price", width, 1),),
                STREAMS,
                parts=parts,
            )
        )
    csv = Workload(
        "sliding-60-csv",
        "One query of 60 s every 1 s, 1000 keys, from CSV",
        sizes.data(1000, format="csv"),
        (WindowQuery("one", "AVG", "price", 60, 1),),
        ("weft", "rival", "flink", "duck", *SCANS),
        parts={"flink": 5},
    )
    return [*found, csv]


def _ten(sizes: Sizes) -> list[Workload]:
    """Ten mixed queries."""
    title = "Ten mixed queries, 1000 keys"
    return [
        Workload("ten", title, sizes.data(1000), draw(10), STREAMS, parts={"native": 1, "rival": 1}),
        Workload(
            "ten-csv",
            f"{title}, from CSV",
            sizes.data(1000, format="csv"),
            draw(10),
            ("weft", "rival", "flink", "duck", *SCANS),
            parts={"flink": 3, "rival": 1},
        ),
    ]


def _hundred(sizes: Sizes) -> list[Workload]:
    """A hundred mixed queries."""
    title = "100 mixed queries, 100 keys"
    return [
        Workload(
            "hundred",
            f"{title}, answers to Parquet",
            sizes.data(100),
            draw(100),
            ("weft", "slicing", "duck"),
            "parquet",
        ),
        Workload(
            "hundred-noop",
            title,
            sizes.data(100),
            draw(100),
            ("weft", "rival", "duck"),
            parts={"rival": 1},
        ),
        Workload(
            "hundred-csv",
            f"{title}, from CSV",
            sizes.data(100, format="csv"),
            draw(100),
            ("weft", "flink", "duck", *SCANS),
            parts={"flink": 2},
        ),
    ]


def _thousand(sizes: Sizes) -> list[Workload]:
    """Very many queries."""
    return [
        Workload(
            f"queries-{count}",
            f"{count} mixed queries, 100 keys",
            sizes.data(100),
            draw(count),
            sides,
            parts={"duck": 1},
            check=1,
        )
        for count, sides in ((1000, ("weft", "weft_100", "duck")), (5000, ("weft", "weft_100")))
    ]


def _keys(sizes: Sizes) -> list[Workload]:
    """One tumbling query and ever more keys."""
    return [
        Workload(
            f"keys-{keys}",
            f"One query of 60 s every 60 s, {keys:,} keys",
            sizes.data(keys),
            (WindowQuery("one", "SUM", "qty", 60, 60),),
            ("weft", "weft_executors", "native", "slicing", "duck"),
        )
        for keys in (100, 10_000, 1_000_000)
    ]


def _batches(sizes: Sizes) -> list[Workload]:
    """The same rows in few large and in many small batches."""
    return [
        Workload(
            f"batches-{files}",
            f"Ten mixed queries, 100 keys, {files} batches",
            sizes.data(100, files=files),
            draw(10),
            ("weft", "native", "rival"),
            parts={"native": max(1, files // 10)},
            check=files // 10,
        )
        for files in (sizes.files, 20 * sizes.files)
    ]


def _answers(sizes: Sizes) -> list[Workload]:
    """Ten queries with very many answers, and with very few."""
    functions = ("AVG", "SUM", "MIN", "MAX", "AVG", "SUM", "MIN", "MAX", "AVG", "SUM")
    heavy = tuple(WindowQuery(f"q{n}", f, "price", 10 * (n + 1), 1) for n, f in enumerate(functions))
    light = tuple(WindowQuery(f"q{n}", f, "price", 60 * (n + 1), 60) for n, f in enumerate(functions))
    small = sizes.rows // 5
    return [
        Workload(
            "answers-many",
            "Ten queries that slide every 1 s, 1000 keys, answers to Parquet",
            sizes.data(1000, rows=small),
            heavy,
            ("weft", "rival", "duck"),
            "parquet",
        ),
        Workload(
            "answers-few",
            "Ten queries that slide every 60 s, 10 keys, answers to Parquet",
            sizes.data(10, rows=small),
            light,
            ("weft", "rival", "duck"),
            "parquet",
        ),
    ]


def _disorder(sizes: Sizes) -> list[Workload]:
    """Rows far out of order, and one in a hundred too late."""
    queries = tuple(
        WindowQuery(f"q{n}", function, "price", width, 10)
        for n, (function, width) in enumerate((("AVG", 60), ("MAX", 30), ("COUNT", 10)))
    )
    return [
        Workload(
            "disorder",
            "Three queries, 100 keys, rows up to 30 s out of order and 1 % too late",
            sizes.data(100, disorder=30, late=10),
            queries,
            STREAMS,
            parts={"native": 6},
            check=6,  # late rows come in the fifth file and after
        )
    ]


def _nexmark(sizes: Sizes) -> list[Workload]:
    """Nexmark's queries 5, 7 and an aggregate like 8, events coming ever faster."""
    queries = (
        WindowQuery("q5", "COUNT", "*", 10, 2, "kind = 2"),
        WindowQuery("q7", "MAX", "price", 10, 10, "kind = 2", keyed=False),
        WindowQuery("q8", "COUNT", "*", 10, 10, "kind = 1"),
    )
    return [
        Workload(
            f"nexmark-{rate}",
            f"Nexmark's queries 5, 7 and like 8, {rate:,} events a second",
            sizes.data(0, kind="nexmark", format="csv", span=max(60, sizes.rows // rate)),
            queries,
            (*STREAMS, "flink", *SCANS),
            parts={"native": 2},
        )
        for rate in (1_000, 10_000, 100_000)
    ]
