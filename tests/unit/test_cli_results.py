"""`weft results`: reading what the sinks of weft write."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tests.unit.cli_fakes import NOON, SECOND
from weft.cli import cli
from weft.commands import results as verb
from weft.engine.filesinks import FileSink
from weft.log.catalog import Catalog, NewQuery
from weft.log.home import Home
from weft.results import Tail, find, last, store, tables, total

QUERY = "CREATE QUERY {name} AS SELECT symbol, SUM(price) AS s FROM trades [RANGE 1 SECOND] GROUP BY symbol"
TIME = pa.timestamp("us", "UTC")


def answers(step: int, rows: int = 2) -> pa.Table:
    """The rows of one window: `s` counts up over all of them."""
    numbers = [float(step * rows + at) for at in range(rows)]
    return pa.table(
        {
            "window_end": pa.array([NOON + step * SECOND] * rows, TIME),
            "symbol": [f"S{at}" if at else None for at in range(rows)],
            "s": numbers,
        }
    )


@dataclass
class Written:
    """A home with queries, and sinks that are given steps."""

    home: Path
    sinks: dict[str, FileSink]

    def add(self, key: str, *steps: int, roll: bool = False) -> None:
        for step in steps:
            self.sinks[key].add(step, answers(step))
        self.sinks[key].flush()
        if roll:
            self.sinks[key].roll()


@pytest.fixture
def write(tmp_path):
    """Makes a home with the given queries: name -> INTO clause."""
    opened: list[Home] = []

    def make(name: str = "app", **queries: str) -> Written:
        path = tmp_path / ".weft" / name
        home = Home.open(path, "app")
        opened.append(home)
        added = [NewQuery(one, f"{QUERY.format(name=one)} {into}") for one, into in queries.items()]
        Catalog(home).change(effective={}, add=added)
        sinks = {}
        for one, into in queries.items():
            dataset = store(path, one, 1) if "jdbc" in into else find(path, one)
            sinks[one] = FileSink(dataset.directory, dataset.options.format)
            sinks[one].attach(home, f"{one}@1", 0)
        return Written(path, sinks)

    yield make
    for home in opened:
        home.close()


def weft(*args: str):
    return CliRunner().invoke(cli, ["results", *args])


def test_the_last_rows_are_read_from_the_end(write) -> None:
    written = write(q="")
    written.add("q", 0, 1, roll=True)
    written.add("q", 2)
    written.add("q", 3)
    dataset = find(written.home, "q")
    assert len(dataset.files()) == 2
    for rows in (1, 2, 3, 5, 8, 100):
        found = last(dataset, rows)
        assert found is not None
        assert found.column("s").to_pylist() == [float(n) for n in range(max(0, 8 - rows), 8)]
    assert total(dataset) == 8
    assert pa.concat_tables(tables(dataset)).column("s").to_pylist() == [float(n) for n in range(8)]


def test_a_tail_gives_each_row_once_however_the_files_grow(write) -> None:
    written = write(q="")
    tail = Tail(find(written.home, "q"))
    seen: list[float] = []

    def look() -> None:
        new = tail.new()
        seen.extend([] if new is None else new.column("s").to_pylist())

    look()
    for step in range(9):
        written.add("q", step, roll=step % 4 == 3)
        if step != 5:
            look()
    look()
    assert seen == [float(n) for n in range(18)]


def test_a_tail_may_skip_what_is_there(write) -> None:
    written = write(q="")
    written.add("q", 0, roll=True)
    written.add("q", 1)
    tail = Tail(find(written.home, "q"))
    tail.skip()
    assert tail.new() is None
    written.add("q", 2)
    new = tail.new()
    assert new is not None
    assert new.column("s").to_pylist() == [4.0, 5.0]


def test_json_is_an_object_a_line(write) -> None:
    written = write(q="")
    written.add("q", 0)
    lines = weft("q", "--home", str(written.home), "--format", "json").output.splitlines()
    assert json.loads(lines[1]) == {"window_end": "2023-11-15T12:00:00.000000Z", "symbol": "S1", "s": 1.0}
    assert json.loads(lines[0])["symbol"] is None


def test_csv_has_one_header_however_many_files(write) -> None:
    written = write(q="")
    written.add("q", 0, roll=True)
    written.add("q", 1)
    lines = weft("q", "--home", str(written.home), "--format", "csv").output.splitlines()
    assert lines[0].replace('"', "") == "window_end,symbol,s"
    assert len(lines) == 5
    assert sum("window_end" in line for line in lines) == 1


def test_a_table_shows_the_last_rows_and_says_of_how_many(write) -> None:
    written = write(q="")
    written.add("q", *range(30))
    result = weft("q", "--home", str(written.home))
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["window_end", "symbol", "s"]
    assert lines[-1].split() == ["2023-11-15", "12:00:29", "S1", "59.0"]
    assert len(lines) == 22  # header, rule, twenty rows
    assert result.stderr == "the last 20 of 60 rows; --last N shows more\n"
    assert len(weft("q", "--home", str(written.home), "--last", "3").stdout.splitlines()) == 5


def test_no_answers_yet(write) -> None:
    result = weft("q", "--home", str(write(q="").home))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "no answers of `q` yet" in result.stderr


def test_follow_goes_on_with_what_comes(write, monkeypatch) -> None:
    written = write(q="")
    written.add("q", 0)
    coming: list[Callable[[], None]] = [
        lambda: None,
        lambda: written.add("q", 1),
        lambda: written.add("q", 2),
    ]

    def pause(seconds: float) -> None:
        if not coming:
            raise KeyboardInterrupt
        coming.pop(0)()

    # The verb's own clock alone: threads of other tests sleep too, and would take what is coming.
    monkeypatch.setattr(verb, "time", SimpleNamespace(sleep=pause))
    result = weft("q", "--home", str(written.home), "--follow", "--format", "json", "--last", "1")
    assert [json.loads(line)["s"] for line in result.stdout.splitlines()] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert result.exit_code == 130


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_answers_that_went_into_files_elsewhere(write, tmp_path, form) -> None:
    path = tmp_path / "out" / form
    written = write(q=f"INTO {form} OPTIONS ('path' = '{path}')")
    written.add("q", 0, 1)
    assert list(path.glob("part-*"))
    lines = weft("q", "--home", str(written.home), "--format", "json").output.splitlines()
    assert [json.loads(line)["s"] for line in lines] == [0.0, 1.0, 2.0, 3.0]
    assert json.loads(lines[0])["symbol"] is None
    assert json.loads(lines[0])["window_end"].startswith("2023-11-15T12:00:00")


def test_answers_that_weft_does_not_keep(write) -> None:
    written = write(q="INTO jdbc OPTIONS ('url' = 'jdbc:x')")
    result = weft("q", "--home", str(written.home))
    assert result.exit_code == 3
    assert "answers-elsewhere" in result.stderr


def test_versions(write) -> None:
    written = write(q="")
    written.add("q", 0)
    catalog = Catalog(Home.look(written.home))
    assert find(written.home, "Q").directory.name == "v1"
    assert catalog.versions("q")[0].key == "q@1"
    result = weft("q", "--home", str(written.home), "--version", "2")
    assert "has no version 2" in result.stderr
    assert "there are 1" in result.stderr


def test_the_home_that_knows_the_query_is_found(write, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("one", q="").add("q", 0)
    write("two", r="")
    assert weft("q").exit_code == 0
    assert "several-homes" in weft("nowhere").stderr


def test_an_unknown_query_and_an_unknown_home(write, tmp_path) -> None:
    written = write(volume="")
    result = weft("volum", "--home", str(written.home))
    assert result.exit_code == 3
    assert "did you mean `volume`?" in result.stderr
    assert "no-home" in weft("q", "--home", str(tmp_path / "nowhere")).stderr
