"""What a run learns of its streams, and what it decides by that for queries that are added later."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.engine.bench import Bench, Row, row
from weft.engine import census, knowledge, runtime
from weft.engine.census import LOOK, Asked, Census, Told
from weft.kernels.leasthashes import least_hashes
from weft.share.model import treatment

BY = "CREATE QUERY by AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 4 SECONDS] GROUP BY sym;\n"
CONDITIONS = ("price > 50", "qty % 2 = 0", "note LIKE 'a%'")


@pytest.fixture(autouse=True)
def few_rows_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "ENOUGH", 10)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, BY)
    yield made
    made.close()


def rows(count: int, values: int, seconds: int = 9) -> list[Row]:
    return [
        row(f"s{at % values}", at % 100, at % 4, "ab"[at % 2], at * seconds / count) for at in range(count)
    ]


def rules(count: int) -> str:
    query = "CREATE QUERY r{0} AS SELECT SUM(qty) AS n FROM trades [RANGE 4 SECONDS] WHERE sym = 's{0}';\n"
    return "".join(query.format(at) for at in range(count))


def conjunctions() -> str:
    pairs = enumerate(combinations(CONDITIONS, 2))
    query = "CREATE QUERY c{} AS SELECT COUNT(*) AS n FROM trades [RANGE 4 SECONDS] WHERE {};\n"
    return "".join(query.format(at, " AND ".join(each)) for at, each in pairs)


def picking(bench: Bench, text: str) -> set[str]:
    """The keys that the queries of the text pick by, which are added now."""
    bench.change(BY + text)
    found = {key for query in bench.runtime.running.values() for key in query.picks_by}
    return {key.partition("(")[0] for key in found}


def test_before_rows_have_come_the_number_of_conditions_decides(bench: Bench) -> None:
    assert picking(bench, rules(3)) == set()
    assert picking(bench, rules(20)) == {"sym"}


@pytest.mark.parametrize(("values", "count", "found"), [(4, 4, {"sym"}), (500, 20, set())])
def test_how_many_values_a_column_has_decides(values: int, count: int, found: set[str], bench: Bench) -> None:
    """Four values are few even for four rules; five hundred are more than the rows of a slice."""
    bench.ingest(*rows(600, values))
    bench.step()
    assert bench.runtime.census.distinct("trades") == {"sym": values}
    assert picking(bench, rules(count)) == found


def test_a_column_that_is_a_key_is_one_for_later_queries_too(bench: Bench) -> None:
    assert picking(bench, rules(20)) == {"sym"}
    bench.ingest(*rows(600, 500))
    bench.step()
    picking(bench, rules(22))
    assert bench.runtime.running["r21"].picks_by == ("sym",)


def test_what_was_learnt_is_known_after_a_restart(bench: Bench, tmp_path: Path) -> None:
    bench.ingest(*rows(600, 500))
    bench.step()
    bench.close()
    again = Bench(tmp_path, BY)
    assert again.runtime.census.distinct("trades") == {"sym": 500}
    assert picking(again, rules(20)) == set()
    again.close()


def test_signatures_and_their_bits_are_counted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treatment, "_saved", lambda rests, facts: float(len(rests)))
    assert picking(bench, conjunctions()) == {"WEFT_SIGNATURE"}
    bench.ingest(*rows(400, 4))
    counted = bench.runtime.census
    (signature,) = (count for key, count in counted.distinct("trades").items() if key != "sym")
    assert signature == 4  # price or not; the other two hold of the same rows
    wanted = {"price > 50": 0.49, "qty % 2 = 0": 0.5, "note LIKE 'a%'": 0.5}
    found = counted.passing("trades")
    assert {key: round(found[key], 2) for key in wanted} == wanted


def test_keys_are_looked_at_now_and_then(bench: Bench) -> None:
    bench.ingest(*rows(20, 4))
    for _ in range(LOOK - 1):
        bench.ingest(*rows(20, 5))
        assert bench.runtime.census.distinct("trades") == {"sym": 4}
    bench.ingest(*rows(20, 5))
    assert bench.runtime.census.distinct("trades") == {"sym": 5}


def test_an_empty_batch_tells_nothing() -> None:
    counted = Census()
    two, none = (least_hashes(pa.array(list(some), pa.string())) for some in ("ab", ""))
    counted.count("s", 4, [Told({"x > 1": 2.0}, {"sym": two})], Asked({"venue": 7.0}))
    counted.count("s", 0, [Told({"x > 1": 0.0}, {"sym": none})], Asked({"venue": 0.0}))
    assert counted.distinct("s") == {"sym": 2.0, "venue": 7.0}
    assert counted.passing("s") == {"x > 1": 0.5}


def test_what_several_tasks_tell_is_put_together() -> None:
    counted = Census()
    parts = [Told({"x > 1": 1.0}, {"sym": least_hashes(pa.array(list(text)))}) for text in ("ab", "bc", "ad")]
    counted.count("s", 6, parts, Asked())
    assert counted.distinct("s") == {"sym": 4.0}
    assert counted.passing("s") == {"x > 1": 0.5}


def test_where_rows_are_no_cells_these_do_not_tell_how_many_meet_a_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the rows with two of three conditions more have each of them than of all rows."""
    monkeypatch.setattr(treatment, "_saved", lambda rests, facts: float(len(rests)))
    bench = Bench(tmp_path, conjunctions())
    assert bench.runtime.plan.streams[0].wanted is not None
    bench.ingest(*rows(400, 4))
    assert not set(bench.runtime.census.passing("trades")) & set(CONDITIONS)
    bench.close()


def test_what_rows_are_asked_is_counted() -> None:
    counted = Census()
    told = Told({"x > 1": 2.0, "z > 1": 1.0}, {})
    counted.count("s", 8, [told], Asked(passed={"y > 1": 4.0, "z > 1": 1.0}))
    assert counted.passing("s") == {"x > 1": 0.25, "y > 1": 0.5, "z > 1": 0.125}


def test_of_what_is_not_counted_any_more_the_last_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "KEPT", 2)
    counted = Census()
    for at in range(5):
        told = Told({f"x > {at}": 1.0, "y": 1.0}, {})
        counted.count("s", 2, [told], Asked({f"c{at}": 1.0, "d": 2.0}))
    assert set(counted.passing("s")) == {"x > 2", "x > 3", "x > 4", "y"}
    assert counted.distinct("s") == {"c2": 1.0, "c3": 1.0, "c4": 1.0, "d": 2.0}
    assert set(counted.to_json()["values"]["s"]) == {"c4", "d"}
