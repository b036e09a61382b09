"""Queries that are added to a running program and begin with full windows, and those that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.engine.relations import homes
from tests.unit.engine.relations.homes import OnHome
from weft.engine import runtime
from weft.testing.values import micros, rows_of

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, v INT, more INT, at TIMESTAMP) TIMESTAMP BY at DELAY {delay} SECONDS "
    "MAX AHEAD OFF FROM parquet OPTIONS ('path' = 'rows');\n"
    for name, delay in (("a", 2), ("b", 0))
)
WIDE = "SELECT x.k, x.v, y.v AS w FROM a [RANGE 10 SECONDS] x JOIN b [RANGE 10 SECONDS] y ON x.k = y.k"

SHORT = WIDE.replace("10 SECONDS", "1 SECOND") + " WHERE y.v > 4"


@pytest.fixture(params=[1, 50])
def adapter(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OnHome]:
    """With snapshots after each step, or almost none."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", request.param)
    made = OnHome(tmp_path / "home")
    yield made
    made.stop()


def program(**queries: str) -> str:
    return STREAMS + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items())


def rows(*given: tuple[str, int, float]) -> pa.Table:
    """Of a stream: k, v, and event time in seconds; v is `more` as well."""
    made = homes.rows(*given)
    return made.append_column("more", made.column("v"))


def told(adapter: OnHome, query: str, times: int = 1) -> list[tuple[Any, ...]]:
    """The answers, so many columns of time before them in seconds."""
    answers = rows_of(adapter.results(query))
    found = [
        (*(None if at is None else micros(at) / SECOND for at in row[:times]), *row[times:])
        for row in answers
    ]
    return sorted(found, key=repr)


def begin(adapter: OnHome, wide: str = WIDE) -> None:
    """A program that runs, with rows up to 12 s: `a` is complete before 10, `b` before 12."""
    adapter.start(program(wide=wide))
    adapter.ingest("a", rows(("A", 1, 3), ("B", 2, 8), ("A", 3, 12)))
    adapter.ingest("b", rows(("A", 4, 4), ("B", 5, 12)))


def add(adapter: OnHome, late: str, wide: str | None = WIDE) -> bool:
    """One more query; is it whole?"""
    adapter.change(program(**({} if wide is None else {"wide": wide}), late=late))
    return adapter.runtime.running["late"].whole


def test_pairs_with_rows_of_before_are_told(adapter: OnHome) -> None:
    begin(adapter)
    assert add(
        adapter, "SELECT y.v, x.v AS w FROM b [RANGE 6 SECONDS] y JOIN a [RANGE 9 SECONDS] x ON x.k = y.k"
    )
    adapter.ingest("b", rows(("A", 6, 13), ("B", 7, 18)))
    assert told(adapter, "late", 2) == [(13.0, 19.0, 6, 3)]  # the A of 3 s has left, the B of 8 s as well
    adapter.ingest("a", rows(("B", 8, 11.5), ("B", 9, 15)))  # 11.5 meets the B of 12 s before the query began
    assert told(adapter, "late", 2) == [(13.0, 19.0, 6, 3), (15.0, 18.0, 5, 9), (18.0, 20.5, 7, 8),
                                        (18.0, 24.0, 7, 9)]  # fmt: skip


def test_the_rows_stay_when_the_query_that_had_them_goes(adapter: OnHome) -> None:
    begin(adapter)
    late = WIDE.replace("SELECT x.k, x.v", "SELECT x.v")
    assert add(adapter, late, wide=None)
    adapter.restart(program(late=late))
    adapter.ingest("b", rows(("A", 6, 12.5), ("B", 7, 17)))
    adapter.restart(program(late=late))
    assert told(adapter, "late", 2) == [(12.5, 13.0, 1, 6), (12.5, 22.0, 3, 6), (17.0, 18.0, 2, 7)]


def test_windows_that_end_later_are_whole(adapter: OnHome) -> None:
    begin(adapter)
    window = "[RANGE 10 SECONDS SLIDE 4 SECONDS]"
    assert add(adapter, f"SELECT COUNT(*) AS n FROM a {window} x JOIN b {window} y ON x.k = y.k")
    adapter.ingest("a", rows(("C", 0, 30)))
    adapter.ingest("b", rows(("C", 0, 30)))
    assert told(adapter, "late", 2) == [(6.0, 16.0, 1)]  # 8 s and 12 s


def test_absence_knows_what_was_there(adapter: OnHome) -> None:
    begin(adapter)
    others = "SELECT 1 FROM b [RANGE 10 SECONDS] y WHERE x.k = y.k"
    assert add(adapter, f"SELECT x.v FROM a [RANGE 10 SECONDS] x WHERE NOT EXISTS ({others})")
    adapter.ingest("a", rows(("A", 6, 13), ("C", 7, 13), ("Z", 0, 40)))
    adapter.ingest("b", rows(("Z", 0, 40)))
    assert [(at, v) for at, _, v in told(adapter, "late")] == [(13.0, 7), (14.0, 3), (14.0, 6)]


def test_what_begins_and_what_ends_after_it_came_is_told(adapter: OnHome) -> None:
    begin(adapter)
    ends = WIDE.replace("SELECT x.k, x.v, y.v AS w", "SELECT DSTREAM(x.v, y.v AS w)")
    begins = ends.replace("DSTREAM", "ISTREAM")
    adapter.change(program(wide=WIDE, ends=ends, begins=begins))
    assert all(adapter.runtime.running[name].whole for name in ("ends", "begins"))
    adapter.ingest("a", rows(("A", 6, 13), ("Z", 0, 40)))
    adapter.ingest("b", rows(("Z", 0, 39)))
    assert told(adapter, "begins") == [(13.0, 6, 4)]
    assert told(adapter, "ends") == [(13.0, 1, 4), (14.0, 3, 4), (14.0, 6, 4), (18.0, 2, 5)]


@pytest.mark.parametrize(
    "late",
    [
        WIDE.replace("a [RANGE 10 SECONDS]", "a [RANGE 11 SECONDS]"),
        WIDE.replace("a [RANGE 10 SECONDS]", "a [RANGE UNBOUNDED]"),
        WIDE.replace("x.k,", "x.more,"),
        WIDE + " EMIT CHANGES",
        WIDE.replace("SELECT", "SELECT DISTINCT"),
        f"SELECT z.k FROM ({WIDE}) [RANGE 5 SECONDS] z",
    ],
    ids=["longer", "unbounded", "column", "changes", "distinct", "over-a-result"],
)
def test_what_is_not_known_to_be_in_the_log_is_not_seen(adapter: OnHome, late: str) -> None:
    begin(adapter)
    assert not add(adapter, late)
    bound = adapter.runtime.running["late"].bound
    assert bound == 12 * SECOND
    adapter.ingest("b", rows(("A", 6, 13)))
    assert not told(adapter, "late")  # though the A of 12 s is in the log


def test_a_condition_that_says_more_is_made_of_the_columns(adapter: OnHome) -> None:
    begin(adapter)
    assert add(adapter, WIDE + " WHERE x.v <> 1 AND y.v + 1 >= 7 AND x.at IS NOT NULL")
    adapter.restart(program(late=WIDE + " WHERE x.v <> 1 AND y.v + 1 >= 7 AND x.at IS NOT NULL"))
    adapter.ingest("b", rows(("A", 6, 12.5), ("B", 5, 17), ("B", 7, 17)))
    assert told(adapter, "late", 2) == [(12.5, 22.0, "A", 3, 6), (17.0, 18.0, "B", 2, 7)]


def test_a_condition_of_no_column_is_made_of_nothing(adapter: OnHome) -> None:
    begin(adapter)
    assert add(adapter, WIDE + " WHERE 1 < 2")
    adapter.ingest("b", rows(("A", 6, 12.5)))
    assert told(adapter, "late", 2) == [(12.5, 13.0, "A", 1, 6), (12.5, 22.0, "A", 3, 6)]


def test_rows_under_a_condition_are_not_all(adapter: OnHome) -> None:
    wide = WIDE + " WHERE x.v > 1"
    begin(adapter, wide)
    assert not add(adapter, WIDE, wide)
    assert not add(adapter, WIDE + " WHERE x.v > 0", wide)
    assert add(adapter, wide.replace("a [RANGE 10 SECONDS]", "a [RANGE 8 SECONDS]"), wide)
    assert add(adapter, wide + " AND x.k <> 'B'", wide)


def test_a_query_that_began_blind_vouches_for_what_it_has_seen(adapter: OnHome) -> None:
    begin(adapter)
    longer = WIDE.replace("a [RANGE 10 SECONDS]", "a [RANGE 20 SECONDS]")
    adapter.change(program(wide=WIDE, longer=longer))
    for now, whole in ((20, False), (33, False), (35, True)):  # `a` is complete two seconds earlier
        adapter.ingest("a", rows(("A", now, now)))
        adapter.ingest("b", rows(("A", now, now)))
        adapter.change(program(wide=WIDE, longer=longer, late=longer.replace("x.k, ", "")))
        assert adapter.runtime.running["late"].whole is whole
        adapter.change(program(wide=WIDE, longer=longer))


@pytest.mark.parametrize("short", [{}, {"short": SHORT}], ids=["no", "short"])
def test_a_chain_that_has_not_the_rows_is_filled(adapter: OnHome, short: dict[str, str]) -> None:
    """Others read them, and hold them in their own way."""
    both = "SELECT k, v FROM a [RANGE 10 SECONDS] EXCEPT ALL SELECT k, v FROM b [RANGE 10 SECONDS]"
    adapter.start(program(both=both, **short))
    adapter.ingest("a", rows(("A", 1, 3), ("B", 2, 8), ("A", 3, 12)))
    adapter.ingest("b", rows(("A", 4, 4), ("B", 5, 12)))
    adapter.change(program(both=both, late=WIDE, **short))
    assert adapter.runtime.running["late"].whole
    adapter.ingest("b", rows(("A", 6, 12.5), ("B", 7, 17)))
    assert told(adapter, "late", 2) == [
        (12.5, 13.0, "A", 1, 6), (12.5, 22.0, "A", 3, 6), (17.0, 18.0, "B", 2, 7)
    ]  # fmt: skip
    for name in short:
        assert told(adapter, name, 2) == [(12.5, 13.0, "A", 3, 6)]


def test_equal_nodes_are_one_when_the_later_query_is_whole(adapter: OnHome) -> None:
    begin(adapter)
    others = "SELECT 1 FROM b [RANGE 10 SECONDS] y WHERE x.k = y.k"
    absent = f"SELECT x.v FROM a [RANGE 10 SECONDS] x WHERE NOT EXISTS ({others})"
    adapter.change(program(wide=WIDE, one=absent))
    before = adapter.runtime.relations.graph.nodes()
    adapter.change(program(wide=WIDE, one=absent, late=absent.replace("x.v", "x.v AS w")))
    after = adapter.runtime.relations.graph.nodes()
    assert [node.operator for node in after[: len(before)]] == [node.operator for node in before]
    assert len(after) == len(before) + 1  # its columns


PICKED = WIDE + " WHERE x.v <> 1"
SHORTER = WIDE.replace("a [RANGE 10 SECONDS]", "a [RANGE 4 SECONDS]")
MADE = WIDE.replace("a [RANGE 10 SECONDS]", "(SELECT k, v > 1 AS v FROM a [RANGE 10 SECONDS])")


@pytest.mark.parametrize(("first", "v"), [(PICKED, 3), (MADE, True)], ids=["condition", "item"])
def test_one_whole_query_after_the_other_takes_nothing_from_the_first(
    adapter: OnHome, first: str, v: int | bool
) -> None:
    begin(adapter)
    assert add(adapter, first)
    adapter.change(program(wide=WIDE, late=first, later=SHORTER))
    assert adapter.runtime.running["later"].whole
    adapter.ingest("b", rows(("A", 6, 13.5)))
    assert told(adapter, "late", 2) == [(13.5, 22.0, "A", v, 6)]
    assert told(adapter, "later", 2) == [(13.5, 16.0, "A", 3, 6)]
