"""Restarted as often as one likes, anywhere between two batches or in a step: the answers are the same."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import in_parts
from tests.unit.engine.bench import Bench, Row, row
from weft.engine import runtime

QUERIES = """
CREATE QUERY slid AS SELECT sym, COUNT(*) AS n, SUM(qty) AS q, MIN(price) AS lo, AVG(price) AS p
  FROM trades [RANGE 7 SECONDS SLIDE 3 SECONDS] GROUP BY sym;
CREATE QUERY jumped AS SELECT MAX(qty) AS q FROM trades [RANGE 2 SECONDS SLIDE 5 SECONDS OFFSET 1 SECOND];
CREATE QUERY each AS SELECT COUNT(*) AS n FROM trades [RANGE 2 SECONDS] WHERE qty > 3 EMIT EMPTY;
CREATE QUERY rows AS SELECT sym, qty FROM trades WHERE qty > 6;
CREATE QUERY casts AS SELECT sym, SUM(CAST(note AS INT)) AS s FROM trades [RANGE 4 SECONDS] GROUP BY sym;
"""
NAMES = ("slid", "jumped", "each", "rows", "casts")
DELAY = 4

# What is done after a batch: nothing, a step, a restart, a step that dies before it is recorded.
ACTIONS = st.sampled_from(["", "step", "step and deliver", "restart", "die"])


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[Row], str]]:
    """Batches of rows that come out of order by less than DELAY, and what is done after each."""
    now, batches = draw(st.integers(0, 100)), []
    for _ in range(draw(st.integers(1, 10))):
        rows = []
        for _ in range(draw(st.integers(1, 5))):
            now += draw(st.integers(0, 3))
            sym, note = draw(st.sampled_from("AB")), draw(st.sampled_from(["1", "2", "x"]))
            price, qty = draw(st.integers(1, 9)) / 10, draw(st.integers(0, 9))
            rows.append(row(sym, price, qty, note, max(now - draw(st.integers(0, DELAY - 1)), 0)))
        batches.append((rows, draw(ACTIONS)))
    return batches


@contextmanager
def homes() -> Iterator[tuple[Path, Path]]:
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as path:
        (Path(path) / "one").mkdir()
        (Path(path) / "other").mkdir()
        yield Path(path) / "one", Path(path) / "other"


class Died(Exception):
    pass


def die_in_step(bench: Bench) -> None:
    def died(*_: object) -> None:
        raise Died

    bench.runtime.answers.commit = died  # type: ignore[method-assign]
    with suppress(Died):
        bench.runtime.step()
    bench.close()


def live(path: Path, history: list[tuple[list[Row], str]]) -> dict[str, Any]:
    bench = Bench(path, QUERIES)
    for rows, action in history:
        bench.ingest(*rows)
        if action.startswith("step"):
            bench.step()
        if action.endswith("deliver"):
            bench.deliver(flush=False)
        if action == "die":
            die_in_step(bench)
        if action in ("restart", "die"):
            bench.close()
            bench = Bench(path, QUERIES)
    bench.step()
    bench.drain()
    bench.deliver()
    bench.close()
    found: dict[str, Any] = {name: _rounded(bench.answers(name)) for name in NAMES}
    return found | {"dead": bench.dead("casts@1"), "late": bench.runtime.tally.to_json().get("late", {})}


def _rounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: round(v, 9) if isinstance(v, float) else v for k, v in row.items()} for row in rows]


@in_parts(3)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories())
def test_restarted_is_never_stopped(
    history: list[tuple[list[Row], str]], monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 2)
    whole = [([row for rows, _ in history for row in rows], "")]
    with homes() as (one, other):
        assert live(one, history) == live(other, whole)
