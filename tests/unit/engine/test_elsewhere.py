"""Datasets in places elsewhere: written as here, read by URL, told apart from each other."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.stores import Bucket, url
from tests.unit.engine.bench import Bench, read, row
from weft import results
from weft.engine.filesinks import FileSink
from weft.errors import RunError
from weft.lang.sinkoptions import file_options
from weft.log.home import Home
from weft.log.paths import locate

pytestmark = pytest.mark.together

INTO = """
CREATE QUERY kept AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 2 SECONDS] GROUP BY sym;
CREATE QUERY sent AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 2 SECONDS] GROUP BY sym
  INTO {format} OPTIONS ('path' = '{path}');
"""


def answers(step: int) -> pa.Table:
    return pa.table({"step": [step, step], "text": ["a", "b"]})


@pytest.mark.parametrize("store", ["bucket", "share"])
@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_query_may_write_elsewhere_while_its_home_is_here(tmp_path: Path, store: str, format: str) -> None:
    path = url(store, tmp_path / "out")
    bench = Bench(tmp_path, INTO.format(format=format, path=path))
    for at in range(0, 20, 4):
        bench.ingest(row("A", 1.0, 1, "", at))
        bench.step()
        bench.deliver()
    bench.drain()
    bench.deliver()
    bench.close()
    found = results.find(tmp_path / "home", "sent")
    assert str(found.directory) == path
    assert sum(table.num_rows for table in results.tables(found)) == len(bench.answers("kept")) == 5
    again = Bench(tmp_path, INTO.format(format=format, path=path))
    again.close()


def test_two_queries_do_not_share_a_place_elsewhere(tmp_path: Path) -> None:
    path = url("bucket", tmp_path / "out")
    one = INTO.format(format="parquet", path=path)
    other = one.replace("kept", "other").replace("sent", "inner").replace("/out", "/out/deeper")
    with pytest.raises(RunError) as refused:
        Bench(tmp_path, one + other)
    assert refused.value.code == "dataset-in-use"


@pytest.mark.parametrize("store", ["here", "bucket", "share"])
def test_answers_are_read_the_same_wherever_they_are(tmp_path: Path, store: str) -> None:
    with Home.open(url(store, tmp_path / "h")) as home:
        sink = FileSink(home.path / "results" / "q" / "v1")
        sink.attach(home, "q@1", 0)
        dataset = results.store(home.path, "q", 1)
        tail = results.Tail(dataset)
        assert (tail.new(), results.last(dataset, 3), results.total(dataset)) == (None, None, 0)
        for step in range(6):
            sink.add(step, answers(step))
            sink.flush()
            if step == 2:
                sink.roll()
            new = tail.new()
            assert new is not None
            assert new.column("step").to_pylist() == [step, step]
        newest = results.last(dataset, 3)
        assert newest is not None
        assert newest.column("step").to_pylist() == [4, 5, 5]
        assert (results.total(dataset), len(dataset.files())) == (12, 2)
        before = results.version(dataset.files()[-1])
        sink.add(6, answers(6))
        sink.flush()
        assert results.version(dataset.files()[-1]) != before


def test_flushes_are_rarer_where_each_is_a_request(tmp_path: Path) -> None:
    there = url("bucket", tmp_path)
    assert FileSink(there).options.flush > FileSink(tmp_path).options.flush == file_options("csv", {}).flush
    assert FileSink(there, "parquet", {"Flush": "1 second"}).options.flush == 1.0


def test_a_store_that_is_down_holds_up_only_its_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, INTO.format(format="parquet", path=url("bucket", tmp_path / "out")))
    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "down", {"/out/part": ConnectionError("gone")})
        bench.ingest(row("A", 1.0, 1, "", 0), row("A", 1.0, 1, "", 9))
        bench.step()
        bench.deliver()
        status = bench.delivery.status()
        assert (status["kept@1"].state, status["sent@1"].state) == ("ok", "retrying")
        assert "gone" in status["sent@1"].error
    bench.delivery._entries["sent@1"].retry_at = 0.0
    bench.deliver()
    assert bench.delivery.status()["sent@1"].state == "ok"
    assert locate(url("bucket", tmp_path / "out")).exists()
    assert len(read(tmp_path / "out")) == len(bench.answers("kept")) == 1
    bench.close()
