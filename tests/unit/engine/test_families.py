"""Queries answered together say what each says alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.unit.engine.bench import Bench, row
from weft.engine.shape import Shape
from weft.kernels import families
from weft.kernels.state import FeedState

FROM = "FROM trades [RANGE 8 SECONDS SLIDE 4 SECONDS]"
NAMES = "ABCDEFGHIJ"  # enough of them to be picked by


def program(queries: dict[str, str]) -> str:
    return "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items())


def run(path: Path, queries: dict[str, str], text: str | None = None) -> Bench:
    path.mkdir()
    bench = Bench(path, text or program(queries))
    rng = Random(7)
    for at in range(0, 60, 5):
        rows = [
            row(
                rng.choice(NAMES[: 2 + at // 6]),
                rng.randint(1, 9) / 2,
                rng.randint(0, 9),
                "xyz"[n % 3],
                at + n,
            )
            for n in range(5)
        ]
        bench.ingest(*rows)
        bench.step()
    bench.drain()
    bench.deliver()
    bench.close()
    return bench


def one_each(select: str, above: str = "") -> dict[str, str]:
    return {f"q{name}": f"SELECT {select} {FROM} WHERE sym = '{name}'{above}" for name in NAMES}


PROGRAMS = {
    "plain": one_each("COUNT(*) AS n, SUM(qty) AS q, MAX(note) AS m"),
    "shaped": one_each("COUNT(*) + 1 AS n, AVG(price) AS p", " HAVING SUM(qty) > 4"),
    "failing": one_each("SUM(qty) / (COUNT(*) - 2) AS n"),
    "first": one_each("note, COUNT(*) AS n", " GROUP BY note ORDER BY n DESC LIMIT 1"),
    "grouped": one_each("note, COUNT(*) AS n", " GROUP BY note"),
    "several": {
        f"q{at}": f"SELECT note, MIN(price) AS p, COUNT(*) AS n {FROM} "
        f"WHERE sym IN ('{NAMES[at]}', '{NAMES[at - 1]}', '{NAMES[at // 2]}') GROUP BY note"
        for at in range(10)
    },
    "named": {f"q{name}": f"SELECT COUNT(*) AS n{name} {FROM} WHERE sym = '{name}'" for name in NAMES},
    "all": one_each("sym, SUM(qty) AS q", " GROUP BY sym")
    | {"every": f"SELECT sym, SUM(qty) AS q {FROM} GROUP BY sym"},
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], list[dict[str, Any]]]:
    """The answers of a query in a program of its own, where nothing is picked and nothing shared."""

    @cache
    def answers(program: str, query: str) -> list[dict[str, Any]]:
        path = tmp_path_factory.mktemp("alone") / query
        return run(path, {query: PROGRAMS[program][query]}).answers(query)

    return answers


Alone = Callable[[str, str], list[dict[str, Any]]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_says_what_it_says_alone(name: str, alone: Alone, tmp_path: Path) -> None:
    check(run(tmp_path / "together", PROGRAMS[name]), name, alone)


@pytest.mark.together
@pytest.mark.parametrize("name", ["shaped", "several"])
def test_so_it_does_where_few_are_answered_at_once(
    name: str, alone: Alone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "_AT_ONCE", 40)
    check(run(tmp_path / "together", PROGRAMS[name]), name, alone)


def check(together: Bench, program: str, alone: Alone) -> None:
    names = list(PROGRAMS[program])
    for query in (names[0], names[3], names[-1]):
        assert together.answers(query) == alone(program, query)
    assert any(together.answers(query) for query in names)


def test_what_fails_is_told_to_each(tmp_path: Path) -> None:
    bench = run(tmp_path / "failing", PROGRAMS["failing"])
    dead = {name: bench.dead(f"{name}@1") for name in PROGRAMS["failing"]}
    assert len([name for name, rows in dead.items() if rows]) > 3
    for name, rows in dead.items():
        assert {found["query"] for found in rows} <= {name}
        assert all("'_a0': 2" in found["row"] for found in rows)


class Calls:
    """Counts the calls of a method."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.count, method = 0, getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return method(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)


@pytest.mark.together
def test_a_family_is_one_call_of_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each, one = Calls(monkeypatch, FeedState, "answer_each"), Calls(monkeypatch, FeedState, "answer")
    shaped = Calls(monkeypatch, Shape, "evaluate")
    bench = run(tmp_path / "family", PROGRAMS["shaped"])
    assert one.count == 0
    assert 0 < each.count == shaped.count <= bench.runtime.step_number + 1


SAME = {
    "a": f"SELECT sym, COUNT(*) AS n, SUM(qty) AS q {FROM} WHERE qty BETWEEN 2 AND 8 "
    "GROUP BY sym HAVING n > 1",
    "b": f"SELECT sym AS s, COUNT(1) AS m, SUM(qty) AS t {FROM} WHERE NOT (8 < qty OR qty < 2) "
    "GROUP BY s HAVING NOT COUNT(*) <= 1",
    "c": f"SELECT sym, COUNT(*) AS n, SUM(qty) AS q {FROM} WHERE 2 <= qty AND 8 >= qty GROUP BY sym "
    "HAVING COUNT(*) > 1 AND COUNT(*) > 1",
}


@pytest.mark.together
def test_those_that_ask_the_same_are_answered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, shaped = Calls(monkeypatch, FeedState, "answer"), Calls(monkeypatch, Shape, "evaluate")
    run(tmp_path / "one", {"a": SAME["a"]})
    single = one.count, shaped.count
    run(tmp_path / "same", SAME)
    assert (one.count, shaped.count) == (2 * single[0], 2 * single[1])


def test_those_that_ask_the_same_are_told_in_their_own_words(tmp_path: Path) -> None:
    bench = run(tmp_path / "same", SAME)
    a, b, c = (bench.answers(name) for name in SAME)
    assert a == c
    assert len(a) > 3
    assert [list(found.values()) for found in b] == [list(found.values()) for found in a]
    assert list(b[0]) == ["window_start", "window_end", "s", "m", "t"]


def test_one_of_those_that_ask_the_same_may_stop(tmp_path: Path) -> None:
    text = f"SELECT SUM(qty) / (COUNT(*) - 8) AS n {FROM}"
    bench = run(tmp_path / "stops", {}, f"CREATE QUERY a AS {text} ON ERROR FAIL; CREATE QUERY b AS {text};")
    assert set(bench.runtime.running) == {"b"}
    assert len(bench.answers("b")) > len(bench.answers("a"))
    assert bench.dead("b@1")
    assert bench.dead("a@1")
