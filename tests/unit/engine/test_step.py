"""The live state of a stream goes on from a pickle as if nothing had happened."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.bench import Bench, row

pytestmark = pytest.mark.together

QUERIES = """
CREATE QUERY slid AS SELECT sym, COUNT(*) AS n, SUM(qty) AS q, MIN(note) AS lo, AVG(price) AS p
  FROM trades [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY sym HAVING COUNT(*) > 0;
CREATE QUERY kinds AS SELECT COUNT(DISTINCT note) AS n FROM trades [RANGE 6 SECONDS SLIDE 3 SECONDS];
"""


def run(path: Path, pickled: bool) -> dict[str, list[dict[str, Any]]]:
    path.mkdir()
    bench = Bench(path, QUERIES)
    for at in range(0, 40, 5):
        bench.ingest(*(row("AB"[n % 2], n / 2, n, f"x{n % 3}", at + n) for n in range(5)))
        bench.step()
        if pickled:
            beside: list[pickle.PickleBuffer] = []
            inside = pickle.dumps(bench.runtime.states["trades"], 5, buffer_callback=beside.append)
            bench.runtime.states["trades"] = pickle.loads(
                inside, buffers=[bytearray(b.raw()) for b in beside]
            )
    bench.drain()
    bench.deliver()
    bench.close()
    return {query: bench.answers(query) for query in ("slid", "kinds")}


def test_answers_are_the_same_from_a_pickled_state(tmp_path: Path) -> None:
    found = run(tmp_path / "pickled", True)
    assert found == run(tmp_path / "kept", False)
    assert all(found.values())


@pytest.mark.parametrize("protocol", [4, 5])
def test_a_state_is_pickled_in_one_piece_as_well(tmp_path: Path, protocol: int) -> None:
    bench = Bench(tmp_path, QUERIES)
    bench.ingest(row("A", 1.0, 2, "x", 3.0))
    state = bench.runtime.states["trades"]
    again = pickle.loads(pickle.dumps(state, protocol))
    bench.close()
    assert (again.cells, again.reach, again.plan) == (state.cells, state.reach, state.plan)
