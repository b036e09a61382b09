"""Answers reach every sink once, each sink at its own pace."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from weft.engine import delivery as delivery_module
from weft.engine import positions
from weft.engine.datasets import MARKER, staging_for
from weft.engine.delivery import Delivery, Policy
from weft.engine.filesinks import FileSink
from weft.errors import Bug, QueryError, RunError
from weft.lang.sinkoptions import file_options
from weft.log.answers import AnswerLog
from weft.log.home import Home


class Bench:
    """A home with an answer log, a clock in our hands, and deliveries that come and go."""

    def __init__(self, path: Path) -> None:
        self.path, self.now = path, 0.0
        self.open()

    def open(self) -> None:
        self.home = Home.open(self.path / "h")
        self.answers = AnswerLog(self.home)
        self.delivery = Delivery(self.home, self.answers, clock=lambda: self.now)

    def crash(self) -> None:
        """Forget all that is in memory."""
        self.home.close()
        self.open()

    def step(self, **rows: int) -> int:
        number = self.answers.next
        self.answers.intend(number, {})
        self.answers.commit(number, {key: answers(number, count) for key, count in rows.items()}, {})
        return number

    def sink(self, name: str = "out", format: str = "parquet", **options: Any) -> FileSink:
        keywords = {key: options.pop(key) for key in ("retain", "watermark") if key in options}
        texts = {key.replace("_", "."): str(value) for key, value in options.items()}
        return FileSink(self.path / name, format, texts, wall=lambda: self.now, **keywords)

    def run(self, seconds: float = 0.0, flush: bool = False) -> None:
        self.now += seconds
        self.delivery.run_once(flush)

    def seen(self, name: str = "out") -> list[int]:
        """The steps that a reader finds, one for each row."""
        parts = sorted(path for path in (self.path / name).iterdir() if not path.name.startswith("."))
        tables = [ds.dataset(path, format=path.suffix[1:]).to_table() for path in parts]
        return [step for table in tables for step in table.column("step").to_pylist()]

    def parts(self, name: str = "out") -> list[str]:
        return sorted(entry for entry in os.listdir(self.path / name) if not entry.startswith("."))


def answers(step: int, count: int) -> Any:
    ends = pa.array([step * 1_000_000] * count, pa.timestamp("us", "UTC"))
    return pa.table({"window_end": ends, "step": pa.array([step] * count, pa.int64())})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.home.close()


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises((RunError, QueryError)) as caught:
        call()
    assert caught.value.help
    return caught.value.code


# -- file sinks


def test_answers_are_seen_after_a_flush(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink(flush="2 seconds"))
    bench.run()
    assert bench.parts() == []
    bench.step(q=2, other=1)
    bench.run(0.1)
    assert bench.seen() == [0, 0]
    bench.step(q=1)
    bench.run(1.0)
    assert bench.seen() == [0, 0]
    bench.run(1.1)
    assert bench.seen() == [0, 0, 1]
    bench.step(q=1)
    bench.run(flush=True)
    assert bench.seen() == [0, 0, 1, 2]
    assert bench.parts() == ["part-000000000000.parquet"]
    assert os.listdir(bench.home.path / "staging") == []


@pytest.mark.parametrize(
    "moment", ["unflushed", "flushed", "sealed", "sealed and more", "rolled", "rolled and more"]
)
@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_restart_neither_loses_nor_doubles(bench: Bench, moment: str, format: str) -> None:
    bench.delivery.register("q", bench.sink(format=format))
    for _ in range(3):
        bench.step(q=1)
    if moment != "unflushed":
        bench.run(3)
    if "sealed" in moment:
        bench.run(70)
        assert bench.delivery.least_position() == 2
        bench.answers.expire(2)
    if "rolled" in moment:
        bench.run(700)
        assert bench.delivery.least_position() == 2
        bench.answers.expire(2)
    if "more" in moment:
        bench.step(q=1)
        bench.run(3)
    bench.crash()
    bench.delivery.register("q", bench.sink(format=format))
    bench.step(q=1)
    bench.run(3)
    bench.run(flush=True)
    assert bench.seen() == list(range(bench.answers.next))
    assert bench.delivery.status()["q"].missed == ()


def test_a_query_without_answers_does_not_hold_the_log(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    bench.delivery.register("idle", bench.sink("idle"))
    for _ in range(3):
        bench.step(q=1)
        bench.run(40)
    assert bench.delivery.least_position() == 2
    bench.answers.expire(1)
    bench.crash()
    bench.delivery.register("idle", bench.sink("idle"))
    assert bench.delivery.status()["idle"].missed == ()
    assert bench.parts("idle") == []


def test_files_are_closed_by_age_and_by_rows(bench: Bench) -> None:
    bench.delivery.register("old", bench.sink("old"))
    bench.delivery.register("big", bench.sink("big", roll_rows=5))
    for _ in range(6):
        bench.step(old=1, big=3)
        bench.run(200)
    bench.run(flush=True)
    assert bench.parts("old") == ["part-000000000000.parquet", "part-000000000003.parquet"]
    assert bench.seen("old") == [0, 1, 2, 3, 4, 5]
    assert bench.parts("big") == [f"part-{step:012d}.parquet" for step in (0, 2, 4)]
    assert bench.seen("big") == sorted([0, 1, 2, 3, 4, 5] * 3)


def test_a_day_of_answers_is_a_few_hundred_files(bench: Bench) -> None:
    sink = bench.sink()
    sink.attach(bench.home, "q", 0)
    for step in range(24 * 60):
        bench.now += 60
        sink.add(step, answers(step, 1))
        sink.tend(bench.now, 1e9)
    assert 100 <= len(bench.parts()) <= 300


def test_a_large_tail_is_closed_sooner_and_flushed_less_often(bench: Bench) -> None:
    sink = bench.sink()
    sink.options = file_options("parquet", {"compression": "none"})
    sink.attach(bench.home, "q", 0)
    large = pa.table({"x": pa.array([float(n) for n in range(700_000)])})
    sink.add(0, large)
    sink.tend(1.0, share=1 << 20)
    assert sink.flushed == 0
    sink.add(1, large.slice(0, 1))
    bench.now = 4.0
    sink.tend(4.0, share=1 << 20)
    assert sink.flushed == 0  # six megabytes at one a second
    sink.tend(8.0, share=1 << 20)
    assert sink.flushed == 1
    bench.now = 241.0
    sink.tend(241.0, share=1 << 20)
    assert (sink.first, sink.nbytes) == (2, 0)


def test_another_schema_begins_another_file(bench: Bench) -> None:
    sink = bench.sink()
    sink.attach(bench.home, "q", 0)
    sink.add(0, pa.table({"a": [1]}))
    sink.add(1, pa.table({"a": ["x"]}))
    sink.flush()
    assert bench.parts() == ["part-000000000000.parquet", "part-000000000001.parquet"]
    assert ds.dataset(bench.path / "out" / bench.parts()[1]).to_table().to_pydict() == {"a": ["x"]}


def test_a_dataset_removed_under_way_is_made_again(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    bench.step(q=1)
    bench.run(3)
    for entry in (bench.path / "out").iterdir():
        entry.unlink()
    (bench.path / "out").rmdir()
    bench.step(q=1)
    bench.run(3)
    assert bench.seen() == [0, 1]
    assert bench.delivery.status()["q"].state == "ok"


def test_old_answers_go_as_whole_files(bench: Bench) -> None:
    def retain() -> FileSink:
        return bench.sink(roll_every="1 second", retain=2_500_000, watermark=lambda: watermark)

    watermark = 0
    bench.delivery.register("q", retain())
    for step in range(8):
        watermark = step * 1_000_000
        bench.step(q=1)
        bench.run(2)
        if step == 5:
            bench.crash()
            bench.delivery.register("q", retain())
    assert bench.seen() == [5, 6, 7]


def test_a_limit_that_comes_later_covers_older_files(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink(roll_every="1 second"))
    for _ in range(4):
        bench.step(q=1)
        bench.run(2)
    bench.crash()
    bench.delivery.register(
        "q", bench.sink(roll_every="1 second", retain=1_500_000, watermark=lambda: 4_000_000)
    )
    bench.step(q=1)
    bench.run(2)
    assert bench.seen() == [3, 4]


def told(step: int, **times: int | None) -> pa.Table:
    """An answer with times in seconds."""
    columns = {
        name: pa.array([None if at is None else at * 1_000_000], pa.timestamp("us", "UTC"))
        for name, at in times.items()
    }
    return pa.table({**columns, "step": pa.array([step], pa.int64())})


@pytest.mark.parametrize(
    ("times", "left"),
    [
        (lambda step: {"valid_from": step, "valid_to": step}, [5, 6, 7]),
        (
            lambda step: {"valid_from": step, "valid_to": step + 2},
            [3, 4, 5, 6, 7],
        ),  # it still held two longer
        (lambda step: {"valid_from": step, "valid_to": None}, [5, 6, 7]),  # nobody knows how long it holds
        (lambda step: {"valid_from": step}, [5, 6, 7]),
        (lambda step: {"valid_to": step}, [5, 6, 7]),
        (lambda step: {"changed_at": step}, [5, 6, 7]),
        (lambda step: {"valid_from": None, "valid_to": 1}, []),
    ],
)
def test_answers_without_windows_go_when_they_ceased_to_hold(
    bench: Bench, times: Callable[[int], dict[str, int | None]], left: list[int]
) -> None:
    watermark = 0
    sink = bench.sink(roll_every="1 second", retain=2_500_000, watermark=lambda: watermark)
    bench.delivery.register("q", sink)
    for step in range(8):
        watermark = step * 1_000_000
        bench.answers.intend(step, {})
        bench.answers.commit(step, {"q": told(step, **times(step))}, {})
        bench.run(2)
    assert bench.seen() == left


# -- whose dataset it is


def test_other_peoples_files_are_not_touched(bench: Bench) -> None:
    (bench.path / "out").mkdir()
    (bench.path / "out" / "part-000000000000.parquet").write_text("mine")
    assert code_of(lambda: bench.delivery.register("q", bench.sink())) == "dataset-not-empty"
    assert (bench.path / "out" / "part-000000000000.parquet").read_text() == "mine"


def test_two_queries_do_not_share_a_dataset(bench: Bench) -> None:
    bench.delivery.register("a", bench.sink())
    assert code_of(lambda: bench.delivery.register("b", bench.sink())) == "dataset-in-use"
    assert code_of(lambda: bench.delivery.register("b", bench.sink("out/inner"))) == "dataset-in-use"
    assert code_of(lambda: bench.delivery.register("b", bench.sink("."))) == "dataset-in-use"
    bench.delivery.register("b", bench.sink("out2"))
    bench.crash()
    assert code_of(lambda: bench.delivery.register("b", bench.sink())) == "dataset-in-use"


def test_the_dataset_of_another_home_is_refused(bench: Bench, tmp_path: Path) -> None:
    bench.delivery.register("q", bench.sink())
    bench.step(q=1)
    bench.run(3)
    with Home.open(tmp_path / "h2") as other:
        delivery = Delivery(other, AnswerLog(other))
        assert code_of(lambda: delivery.register("q", bench.sink())) == "dataset-in-use"
    assert bench.seen() == [0]


def test_a_lost_position_is_noticed(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    bench.step(q=1)
    bench.run(3)
    (bench.home.path / "delivery" / "q.json").unlink()
    bench.crash()
    assert code_of(lambda: bench.delivery.register("q", bench.sink())) == "damaged-state"


def test_a_position_older_than_the_dataset_is_noticed(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink(roll_rows=1))
    for _ in range(2):
        bench.step(q=1)
        bench.run(3)
    backup = (bench.home.path / "delivery" / "q.json").read_bytes()
    for _ in range(2):
        bench.step(q=1)
        bench.run(3)
    (bench.home.path / "delivery" / "q.json").write_bytes(backup)
    bench.crash()
    assert code_of(lambda: bench.delivery.register("q", bench.sink())) == "damaged-state"


def test_a_damaged_seal_is_named(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    bench.step(q=1)
    bench.run(70)
    (sealed,) = (bench.home.path / "delivery").glob("*.tail")
    sealed.write_bytes(sealed.read_bytes()[:-1])
    bench.crash()
    with pytest.raises(RunError, match=sealed.name):
        bench.delivery.register("q", bench.sink())


def test_only_the_last_seal_is_kept(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    for _ in range(3):
        bench.step(q=1)
        bench.run(40)
    (bench.home.path / "delivery" / "q-000000000009.tail").write_bytes(b"half")
    assert len(list((bench.home.path / "delivery").glob("*.tail"))) == 2
    bench.crash()
    bench.delivery.register("q", bench.sink())
    assert len(list((bench.home.path / "delivery").glob("*.tail"))) == 1


def test_readers_see_no_file_of_ours_but_parts(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    bench.step(q=1)
    bench.run(3)
    assert sorted(os.listdir(bench.path / "out")) == [MARKER, "part-000000000000.parquet"]
    assert MARKER.startswith(".")


def test_staging_is_where_a_rename_reaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, preferred = tmp_path / "ds", tmp_path / "staging"
    dataset.mkdir()
    assert staging_for(dataset, preferred) == preferred
    replace = os.replace

    def other_device(source: Path, target: Path) -> None:
        if preferred in Path(source).parents:
            raise OSError(18, "Invalid cross-device link")
        replace(source, target)

    monkeypatch.setattr(os, "replace", other_device)
    assert staging_for(dataset, preferred) == tmp_path / ".ds.weft-staging"
    assert os.listdir(dataset) == []


# -- sinks that fail


class Broken:
    """A writer that fails on demand."""

    def __init__(self) -> None:
        self.fails, self.got = False, list[int]()

    def __call__(self, table: Any, step: int) -> None:
        if self.fails:
            raise ConnectionError("no route")
        self.got.append(step)


def test_a_failing_sink_holds_up_only_itself(bench: Bench) -> None:
    broken, policy = Broken(), Policy(pause=1, longest_pause=4, give_up=20)
    bench.delivery.register("q", bench.sink())
    bench.delivery.register("k", broken, policy)
    bench.step(q=1, k=1)
    bench.run(3)
    broken.fails = True
    bench.step(q=1, k=1)
    bench.run(3)
    assert bench.seen() == [0, 1]
    status = bench.delivery.status()["k"]
    assert (status.state, status.error, status.delivered) == ("retrying", "ConnectionError: no route", 0)
    assert bench.delivery.least_position() <= 0
    broken.fails = False
    bench.run(0.5)
    assert broken.got == [0]
    bench.run(0.6)
    assert broken.got == [0, 1]
    assert bench.delivery.status()["k"].state == "ok"


def test_a_sink_that_fails_too_long_is_failed_and_tried_at_the_next_start(bench: Bench) -> None:
    broken = Broken()
    broken.fails = True
    bench.delivery.register("k", broken, Policy(pause=1, longest_pause=4, give_up=20))
    tries = 0
    for _ in range(40):
        bench.step(k=1)
        bench.run(1)
        tries += bench.delivery.status()["k"].state == "retrying"
    assert bench.delivery.status()["k"].state == "failed"
    assert tries < 30
    assert bench.delivery.least_position() == 39
    bench.answers.expire(35)
    bench.crash()
    broken.fails = False
    bench.delivery.register("k", broken)
    bench.run(1)
    assert broken.got == [36, 37, 38, 39]
    assert bench.delivery.status()["k"].missed == ((0, 35),)
    bench.crash()
    bench.delivery.register("k", broken)
    assert bench.delivery.status()["k"].missed == ((0, 35),)


def test_a_file_sink_that_failed_keeps_what_had_come(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.delivery.register("q", bench.sink(), Policy(give_up=5))
    bench.step(q=1)
    bench.run(3)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("weft.engine.filesinks.replace_from", full)
        for _ in range(4):
            bench.step(q=1)
            bench.run(10)
    status = bench.delivery.status()["q"]
    assert (status.state, status.delivered) == ("failed", 0)
    assert "No space left" in status.error
    assert bench.seen() == [0]
    bench.answers.expire(3)
    bench.crash()
    bench.delivery.register("q", bench.sink())
    bench.run(3)
    bench.run(flush=True)
    missed = [step for pair in bench.delivery.status()["q"].missed for step in range(pair[0], pair[1] + 1)]
    assert sorted(bench.seen() + missed) == [0, 1, 2, 3, 4]
    assert 1 in bench.seen()


def test_memory_is_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_module, "TAIL_BYTES", 30_000)
    for name in ("a", "b", "c"):
        bench.delivery.register(name, bench.sink(name))
    for _ in range(20):
        bench.step(a=2000, b=10, c=10)
        bench.run(3)
    entries = bench.delivery._entries.values()
    assert sum(entry.sink.nbytes for entry in entries) <= 30_000
    for name, count in (("a", 2000), ("b", 10)):
        assert bench.seen(name) == sorted(list(range(20)) * count)


# -- the end of a query


def test_a_dropped_query_is_delivered_to_its_end(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    last = bench.step(q=1)
    bench.delivery.end("q", last)
    bench.step(other=1)
    bench.run(0.1)
    assert bench.delivery.status()["q"].state == "done"
    assert bench.seen() == [0]
    assert bench.delivery.least_position() == 1
    bench.crash()
    bench.delivery.register("q", bench.sink(), until=last)
    bench.run()
    assert bench.delivery.status()["q"].state == "done"
    assert bench.seen() == [0]


def test_a_writer_goes_on_after_what_it_has_written(bench: Bench) -> None:
    writer = Broken()
    bench.delivery.register("k", writer)
    bench.step(k=1)
    bench.step(other=1)
    bench.run()
    bench.crash()
    bench.delivery.register("k", writer)
    bench.step(k=1)
    bench.run()
    assert writer.got == [0, 2]


def test_what_a_writer_has_is_forgotten_in_memory_and_held_in_the_log(bench: Bench) -> None:
    writer = Broken()
    bench.delivery.register("k", writer)
    bench.step(k=1)
    (record,) = bench.answers.records()
    (bench.home.path / "answers" / record.data.files[0]).unlink()  # so it can only come from memory
    bench.run()
    assert writer.got == [0]
    with pytest.raises(RunError, match="it is missing"):
        bench.answers.read(record, "k")


def test_many_writers_cost_one_durable_write(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    real = positions.write_file
    monkeypatch.setattr(
        positions, "write_file", lambda path, *rest: (written.append(path), real(path, *rest))
    )
    for at in range(20):
        bench.delivery.register(f"k{at}", Broken())
    bench.step(**{f"k{at}": 1 for at in range(20)})
    bench.run()
    bench.run()
    assert len(written) == 1
    assert bench.delivery.least_position() == 0


def test_a_key_has_one_sink(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    with pytest.raises(Bug):
        bench.delivery.register("q", bench.sink("out2"))


def test_flushes_are_spread(bench: Bench) -> None:
    for at in range(20):
        bench.delivery.register(f"q{at}", bench.sink(f"out{at}"))
    everyone = {f"q{at}": 1 for at in range(20)}
    bench.step(**everyone)
    bench.run()
    assert _delivered(bench, 0) == 20  # the first answers at once
    bench.step(**everyone)
    seen = [0]
    for _ in range(20):
        bench.run(0.05)
        seen.append(_delivered(bench, 1))
    assert seen[-1] == 20
    assert max(later - earlier for earlier, later in pairwise(seen)) <= 4


def _delivered(bench: Bench, step: int) -> int:
    """How many sinks have come so far."""
    return sum(status.delivered == step for status in bench.delivery.status().values())


def test_a_single_sink_shows_every_step_at_once(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    for step in range(5):
        bench.step(q=1)
        bench.run(0.1)
        assert bench.seen() == list(range(step + 1))


def test_a_taken_home_stops_delivery(bench: Bench) -> None:
    bench.delivery.register("q", bench.sink())
    bench.step(q=1)
    (bench.home.path / "owner.json").rename(bench.home.path / "elsewhere")
    with pytest.raises(RunError, match="taken over"):
        bench.run(3)
    assert bench.parts() == []


def test_status_can_be_read_while_delivery_runs(bench: Bench) -> None:
    for at in range(10):
        bench.delivery.register(f"q{at}", bench.sink(f"out{at}"))
    failures: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            try:
                assert len(bench.delivery.status()) >= 10
                bench.delivery.least_position()
            except BaseException as error:
                failures.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    for at in range(20):
        bench.step(**{f"q{n}": 1 for n in range(10)})
        bench.delivery.register(f"more{at}", bench.sink(f"more{at}"))
        bench.run(1)
    stop.set()
    reader.join()
    assert failures == []


# -- options


@pytest.mark.parametrize(
    ("format", "options", "code"),
    [
        ("parquet", {"compresion": "zstd"}, "unknown-sink-option"),
        ("parquet", {"header": "true"}, "unknown-sink-option"),
        ("parquet", {"compression": "rar"}, "bad-sink-option"),
        ("csv", {"header": "perhaps"}, "bad-sink-option"),
        ("csv", {"sep": "ab"}, "bad-sink-option"),
        ("json", {"flush": "soon"}, "bad-sink-option"),
        ("json", {"flush": "0 seconds"}, "bad-sink-option"),
        ("json", {"roll.rows": "-1"}, "bad-sink-option"),
    ],
)
def test_bad_options(format: str, options: dict[str, str], code: str) -> None:
    assert code_of(lambda: file_options(format, options)) == code


def test_good_options() -> None:
    found = file_options(
        "csv", {"path": "x", "SEP": "\\t", "header": "FALSE", "roll.every": "1 hour", "flush": "500ms"}
    )
    assert (found.separator, found.header, found.roll_every, found.flush) == ("\t", False, 3600, 0.5)
    assert file_options("json", {"compression": "gzip"}).extension == ".json.gz"
