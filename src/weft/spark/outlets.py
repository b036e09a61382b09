"""The sinks of a program: what weft writes itself, and what it hands to Spark.

home/results/<query>/v<version>/     the result store
home/dead/<query or stream>/         rows and answers that went wrong
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

from pyspark.sql import SparkSession

from weft.engine.datasets import MARKER, refuse_taken
from weft.engine.delivery import Delivery, Write
from weft.engine.epochs import Texts, keys
from weft.engine.filesinks import FileSink
from weft.engine.letters import DEAD
from weft.engine.runtime import Runtime
from weft.errors import RunError, WeftError
from weft.lang.parse import parse_program
from weft.lang.sinkoptions import FORMATS, path_of
from weft.lang.statements import CreateQuery, CreateRelation
from weft.log.catalog import Catalog, QueryVersion
from weft.log.durable import entries, find_record
from weft.log.home import Home, file_name
from weft.log.paths import locate
from weft.plan.nodes import Program
from weft.plan.tree import streams_of
from weft.spark.sinks import spark_writer
from weft.times import Instant


class Outlets:
    """Opens a sink for every query in force, and one for dead letters as soon as there are some."""

    def __init__(self, spark: SparkSession, runtime: Runtime, delivery: Delivery) -> None:
        self.spark, self.runtime, self.delivery = spark, runtime, delivery
        self._open: set[str] = set()

    def open_all(self) -> None:
        """All sinks that the answer log may hold something for."""
        self.open_running()
        self._open_ended()
        self.open_dead(_known_dead(self.runtime.home))
        for record in self.runtime.answers.records():
            self.open_dead(record.tables)

    def open_running(self) -> None:
        """The sinks of the queries in force that have none yet."""
        new = [version for version in self.runtime.running.values() if version.key not in self._open]
        queries = {query.name: query for query in self.runtime.program.queries} if new else {}
        for version in new:
            query = queries[version.name]
            watermark = partial(self.runtime.watermark, *streams_of(query))
            self._register(version.key, self._sink(version, query.statement, watermark))

    def _open_ended(self) -> None:
        """A query that has ended may have answers that its sink does not hold yet."""
        last = {key: record.step for record in self.runtime.answers.records() for key in record.tables}
        for version in self.runtime.catalog.all_versions():
            if version.dropped is not None and version.key in last:
                (statement,) = parse_program(version.text)
                assert isinstance(statement, CreateQuery | CreateRelation)
                with suppress(WeftError):  # what it wrote to may be gone, or another's, by now
                    self._register(version.key, self._sink(version, statement), until=last[version.key])

    def open_dead(self, keys: Iterable[str]) -> None:
        """Datasets for the dead letters among these tables."""
        for key in keys:
            if key.startswith(DEAD):
                name = file_name(key.removeprefix(DEAD))
                self._register(key, FileSink(self.runtime.home.path / "dead" / name))

    def end_gone(self, step: int) -> None:
        """A query that is no longer in force has no answers after this step."""
        in_force = {version.key for version in self.runtime.running.values()}
        for key in self._open:
            if not key.startswith(DEAD) and key not in in_force:
                self.delivery.end(key, step)

    def _register(self, key: str, sink: FileSink | Write, until: int | None = None) -> None:
        if key not in self._open:
            self.delivery.register(key, sink, until=until)
            self._open.add(key)

    def _sink(
        self,
        version: QueryVersion,
        query: CreateQuery | CreateRelation,
        watermark: Callable[[], Instant | None] = lambda: None,
    ) -> FileSink | Write:
        sink = query.sink
        if sink is None:
            store = self.runtime.home.path / "results" / file_name(version.name) / f"v{version.version}"
            return FileSink(store, retain=query.retain, watermark=watermark)
        if sink.format not in FORMATS:
            write = spark_writer(self.spark, sink)
            return lambda table, _: write(table)
        path, options = locate(path_of(query.name, sink)), dict(sink.options)
        return FileSink(path, sink.format, options, retain=query.retain, watermark=watermark)


def check_sinks(home: Home, catalog: Catalog, program: Program, texts: Texts) -> None:
    """Refuse, before the program is changed, what its queries cannot write to."""
    places: list[tuple[tuple[str, ...], str]] = []
    will_be = keys(catalog, program, texts)
    for query in program.queries:
        if query.sink is not None and query.sink.format in FORMATS:
            path = locate(path_of(query.name, query.sink))
            sink = FileSink(path, query.sink.format, dict(query.sink.options))
            key = will_be[query.name]
            known = (home.path / "delivery" / f"{file_name(key)}.json").exists()
            refuse_taken(sink.directory, {"home": home.id, "key": key}, known)
            places.append((Path(sink.resolved).parts, query.name))
    for (outer, one), (inner, other) in pairwise(sorted(places)):
        if inner[: len(outer)] == outer:
            raise RunError(
                "dataset-in-use",
                f"queries `{one}` and `{other}` write to the same place: {Path(*outer)}",
                help="give every query a path of its own",
            )


def _known_dead(home: Home) -> list[str]:
    """The dead letters that an earlier run has kept."""
    dead = home.path / "dead"
    found = (find_record(dead / name / MARKER) for name in sorted(entries(dead)))
    return [str(marker["key"]) for marker in found if marker is not None]
