"""The sinks of a program: what weft writes itself, and what it hands to Spark.

home/results/<query>/v<version>/     the result store
home/dead/<query or stream>/         rows and answers that went wrong
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from weft.engine.delivery import Delivery, Write
from weft.engine.filesinks import FileSink
from weft.engine.runtime import Runtime
from weft.engine.sinkoptions import FORMATS
from weft.errors import QueryError
from weft.log.catalog import QueryVersion
from weft.log.home import file_name
from weft.plan.nodes import Query
from weft.share.parts import parts
from weft.spark.sinks import spark_writer
from weft.times import Instant

DEAD = "dead:"


class Outlets:
    """Opens a sink for every query in force, and one for dead letters as soon as there are some."""

    def __init__(self, spark: SparkSession, runtime: Runtime, delivery: Delivery) -> None:
        self.spark, self.runtime, self.delivery = spark, runtime, delivery
        self._open: set[str] = set()

    def open_all(self) -> None:
        """The sinks of the queries in force, and the dead letters that the answer log holds."""
        queries = {query.name: query for query in self.runtime.program.queries}
        for version in self.runtime.running.values():
            self._register(version.key, self._sink(queries[version.name], version))
        for record in self.runtime.answers.records():
            self.open_dead(record.tables)

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

    def _register(self, key: str, sink: FileSink | Write) -> None:
        if key not in self._open:
            self.delivery.register(key, sink)
            self._open.add(key)

    def _sink(self, query: Query, version: QueryVersion) -> FileSink | Write:
        sink = query.sink
        if sink is None:
            store = self.runtime.home.path / "results" / file_name(version.name) / f"v{version.version}"
            return FileSink(store, retain=query.retain, watermark=self._watermark_of(query))
        if sink.format not in FORMATS:
            write = spark_writer(self.spark, sink)
            return lambda table, _: write(table)
        options = dict(sink.options)
        path = next((value for name, value in sink.options if name.lower() == "path"), None)
        if path is None:
            raise QueryError(
                "option-missing",
                f"query `{query.name}` does not say where its {sink.format} files go",
                at=sink.place,
                help=f"INTO {sink.format} OPTIONS ('path' = 'out/{query.name}')",
            )
        return FileSink(
            Path(path), sink.format, options, retain=query.retain, watermark=self._watermark_of(query)
        )

    def _watermark_of(self, query: Query) -> Callable[[], Instant | None]:
        return partial(self.runtime.watermark, parts(query).stream)
