"""What relations hold, counted: rows that still matter to some query, and files of the log that hold such."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.cases import first
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.relations.loom import Loom
from weft.engine import runtime
from weft.engine.relations.deduplicating import Deduplicating
from weft.optimize.pipeline import optimize_program
from weft.testing.harness import bound

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF "
    "FROM parquet OPTIONS ('path' = 'rows');\n"
    for name in "ab"
)
JOIN = "SELECT x.v, y.v AS w FROM a [RANGE {0} SECONDS] x JOIN b [RANGE {0} SECONDS] y ON x.k = y.k WHERE {1}"
QUERIES = {  # range in seconds, least v of the left side
    "short": (4, 0),
    "some": (20, 7),
    "long": (12, 3),
}
History = list[tuple[int, int]]  # event time in seconds and v


def program(*names: str) -> str:
    joins = {name: JOIN.format(QUERIES[name][0], f"x.v >= {QUERIES[name][1]}") for name in names}
    return STREAMS + "".join(f"CREATE QUERY {name} AS {join};\n" for name, join in joins.items())


def batch(at: int, values: list[int]) -> pa.Table:
    times = pa.array([at * SECOND] * len(values), pa.timestamp("us", tz="UTC"))
    return pa.table({"k": ["A"] * len(values), "v": pa.array(values, pa.int32()), "at": times})


@dataclass(frozen=True)
class Ask:
    """What a query wants of one side: rows for so many seconds, those of at least `least`, after `since`."""

    range: int
    least: int | None = None
    since: int = -1

    def wants(self, row: tuple[int, int], now: int) -> bool:
        at, v = row
        return at > max(now - self.range, self.since) and (self.least is None or v >= self.least)


Asks = tuple[Ask, Ask]  # of either side


def asks_of(name: str, since: int = -1) -> Asks:
    range_, least = QUERIES[name]
    return Ask(range_, least, since), Ask(range_, None, since)


def wanted(rows: History, now: int, asks: Iterable[Ask]) -> int:
    """The rows of a side that a row to come of the other may still be paired with, by a plain count."""
    return sum(any(ask.wants(row, now) for ask in asks) for row in rows)


def all_wanted(history: dict[str, History], now: int, asks: Iterable[Asks]) -> int:
    sides = zip(*asks, strict=True)
    return sum(wanted(rows, now, side) for rows, side in zip(history.values(), sides, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_holds_what_some_query_still_wants(seed: int, tmp_path: Path) -> None:
    rng, history = Random(seed), {"a": [], "b": []}
    adapter = OnHome(tmp_path / "home")
    adapter.start(program(*QUERIES))
    running = list(QUERIES)
    for now in range(60):
        for stream, rows in history.items():
            values = [rng.randrange(10) for _ in range(rng.randrange(1, 4))]
            adapter.ingest(stream, batch(now, values))
            rows += [(now, v) for v in values]
        if now == 30:
            running.remove("some")
            adapter.change(program(*running))
        if now == 45:
            adapter.restart(program(*running))
        (chain,) = adapter.runtime.relations.graph.chains
        assert chain.rows == all_wanted(history, now, map(asks_of, running))
    adapter.stop()


class Chained:
    """Joins of one chain, fed at random: streams at paces of their own, some keys null."""

    def __init__(self, asks: list[Asks], rng: Random) -> None:
        queries = [self._query(at, *each) for at, each in enumerate(asks)]
        self.loom = Loom(optimize_program(bound(STREAMS + "".join(queries))))
        self._asks, self._rng = asks, rng
        self._history: tuple[History, History] = ([], [])
        self._now = [0, 0]

    @staticmethod
    def _query(number: int, left: Ask, right: Ask) -> str:
        sides = zip("xy", (left, right), strict=True)
        asked = [f"{one}.v >= {side.least}" for one, side in sides if side.least is not None]
        where = f" WHERE {' AND '.join(asked)}" if asked else ""
        return (
            f"CREATE QUERY q{number} AS SELECT x.v, y.v AS w FROM a [RANGE {left.range} SECONDS] x "
            f"JOIN b [RANGE {right.range} SECONDS] y ON x.k = y.k{where};\n"
        )

    def feed(self) -> None:
        """One batch of either stream, at its time or some seconds later."""
        side = self._rng.randrange(2)
        self._now[side] += self._rng.choice([0, 1, 1, 2, 5])
        rows = [(self._rng.randrange(10), self._rng.random() < 0.9) for _ in range(self._rng.randrange(1, 5))]
        table = batch(self._now[side], [v for v, _ in rows])
        keys = pa.array([self._rng.choice("ABC") if known else None for _, known in rows], pa.string())
        self.loom.feed("ab"[side], table.set_column(0, "k", keys))
        self._history[side].extend((self._now[side], v) for v, known in rows if known)

    def held(self) -> tuple[int, int]:
        (chain,) = self.loom.relations.graph.chains
        return chain.held

    def wanted(self, asks: list[Asks]) -> tuple[int, int]:
        """Rows of either side that are, the other being where it is."""
        left, right = zip(*asks, strict=True)
        return wanted(self._history[0], self._now[1], left), wanted(self._history[1], self._now[0], right)


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_a_chain_holds_the_rows_that_some_query_still_wants_and_no_others(seed: int) -> None:
    """With other conditions for other queries no one of them wants all rows that are held."""
    rng = Random(seed)
    some = [None, None, 2, 5, 8]
    asks = [
        (Ask(rng.choice([2, 5, 9, 20]), rng.choice(some)), Ask(rng.choice([2, 5, 9, 20]), rng.choice(some)))
        for _ in range(rng.randrange(1, 7))
    ]
    chained = Chained(asks, rng)
    for _ in range(60):
        chained.feed()
        assert chained.held() == chained.wanted(asks)


@pytest.mark.parametrize("seed", range(6))
def test_with_equal_conditions_a_chain_holds_what_the_largest_query_would(seed: int) -> None:
    rng = Random(100 + seed)
    least = rng.choice([None, 4]), rng.choice([None, 4])
    ranges = [rng.choice([1, 2, 5, 9, 20]) for _ in range(rng.randrange(1, 7))]
    asks = [(Ask(each, least[0]), Ask(each, least[1])) for each in ranges]
    chained = Chained(asks, rng)
    for _ in range(60):
        chained.feed()
        assert sum(chained.held()) == max(sum(chained.wanted([each])) for each in asks)


@pytest.mark.parametrize("seed", range(6))
def test_with_unequal_windows_each_side_holds_what_the_largest_query_would_of_it(seed: int) -> None:
    """One query may be the largest on the left, another on the right: then neither alone holds both."""
    rng = Random(200 + seed)
    least = rng.choice([None, 4]), rng.choice([None, 4])
    lengths = [1, 2, 5, 9, 20]
    asks = [(Ask(rng.choice(lengths), least[0]), Ask(rng.choice(lengths), least[1])) for _ in range(4)]
    chained = Chained(asks, rng)
    for _ in range(60):
        chained.feed()
        alone = [chained.wanted([each]) for each in asks]
        assert chained.held() == (max(left for left, _ in alone), max(right for _, right in alone))


def values_there(history: dict[str, History], beside: bool) -> set[int]:
    """The values of a in 7 seconds, `beside` rows of b in 3 seconds, as of the last instant that is final."""
    if not history["a"] or (beside and not history["b"]):
        return set()
    before = min(rows[-1][0] for name, rows in history.items() if name == "a" or beside)
    found = {v for at, v in history["a"] if before - 7 <= at < before}
    return found if not beside or any(before - 3 <= at < before for at, _ in history["b"]) else set()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("source", ["a [RANGE 7 SECONDS] x", "a [RANGE 7 SECONDS] x, b [RANGE 3 SECONDS] y"])
def test_distinct_holds_at_most_twice_what_is_there(source: str, seed: int) -> None:
    """Of each value that is there the life that was told, and at most one that goes on."""
    rng, history = Random(300 + seed), {"a": [], "b": []}
    query = f"CREATE QUERY keys AS SELECT DISTINCT x.v FROM {source};"
    loom = Loom(optimize_program(bound(STREAMS + query)))
    nodes = [node.operator for node in loom.relations.graph.nodes()]
    (distinct,) = [each for each in nodes if isinstance(each, Deduplicating)]
    most = 0.0
    for now in range(40):
        for stream, rows in history.items():
            values = [rng.randrange(8) for _ in range(rng.randrange(0, 6))]
            loom.feed(stream, batch(now, values))
            rows += [(now, v) for v in values]
        there = values_there(history, beside="y" in source)
        assert len(distinct.longest) <= 2 * len(there)
        most = max(most, len(distinct.longest) / max(len(there), 1))
    assert most > 1  # else no row that goes on was ever held


def test_files_of_the_log_are_kept_for_as_long_as_the_longest_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    adapter = OnHome(tmp_path / "home")
    adapter.start(program("short", "long"))
    for now in range(40):
        for stream in "ab":
            adapter.ingest(stream, batch(now, [5]))
        for stream in "ab":
            files = adapter.batches(stream)
            assert files[-1] == now
            assert files[0] <= max(now - 12, 0)  # a row of then is in the window of 12 seconds still
            assert files[0] >= now - 15  # it takes another snapshot or two to be sure
    adapter.stop()
