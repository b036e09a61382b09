"""Which files a batch of a stream consists of, where weft can read them by itself.

Spark plans the batches of a file source and writes down which files each one takes. What it then hands on is
rows, one by one. Parquet is columns, and so are the kernels: where the files are just as declared, and the
kernels know all expressions, they are read as columns. All else is Spark's.

    checkpoint/   offsets/41        batch 41 goes up to entry 57 of the log of its source
                  sources/0/57      the files of that entry; 59.compact: those of all before, too
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from weft.engine.parquetfiles import Piece, pieces
from weft.engine.rowscan import RowScan, Unsuited, compile_scan
from weft.errors import RunError
from weft.log.paths import AnyPath
from weft.plan.nodes import Stream
from weft.share.nodes import StreamPlan

ENABLED = "spark.weft.scan.enabled"

# Options that say which files are taken, and when; any other may change what is read from them.
_LISTING = {
    "path",
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "maxfileage",
    "filenameonly",
    "cleansource",
    "sourcearchivedir",
    "pathglobfilter",
    "recursivefilelookup",
}


class FileScan:
    """The files of one stream, batch by batch, as long as they suit."""

    def __init__(self, spark: SparkSession, stream: Stream, checkpoint: AnyPath) -> None:
        self._checkpoint, self._stream = checkpoint, stream
        declared = stream.statement
        self._suits = (
            declared.format == "parquet"
            and {name.lower() for name, _ in declared.options} <= _LISTING
            and spark.conf.get(ENABLED, "true") == "true"
        )
        self._plan: StreamPlan | None = None
        self._scan: RowScan | None = None

    def of(self, batch: int, plan: StreamPlan) -> tuple[RowScan, list[Piece]] | None:
        """How to read a batch, and what; None: Spark is to read it."""
        if not self._suits:
            return None
        if plan is not self._plan:
            self._plan, self._scan = plan, self._compiled(plan)
        if self._scan is None:
            return None
        try:
            paths = [_local(uri) for uri in batch_files(self._checkpoint, batch)]
            return self._scan, pieces(paths, self._scan.columns)
        except Unsuited as error:
            self.give_up(error)
            return None

    def _compiled(self, plan: StreamPlan) -> RowScan | None:
        try:
            return compile_scan(plan)
        except Unsuited as error:
            self._tell(error)
            return None

    def give_up(self, why: Unsuited) -> None:
        """Leave the stream to Spark from now on."""
        self._suits = False
        self._tell(why)

    def _tell(self, why: Unsuited) -> None:
        logging.getLogger("weft").info("stream %s is read row by row: %s", self._stream.name, why)


def batch_files(checkpoint: AnyPath, batch: int) -> list[str]:
    """The files of a batch, as Spark has planned it."""
    try:
        before = _entry(checkpoint, batch - 1) if batch else -1
        return [
            path
            for entry in range(before + 1, _entry(checkpoint, batch) + 1)
            for path in _files(checkpoint, entry)
        ]
    except (OSError, ValueError, KeyError, TypeError, RunError) as error:
        raise Unsuited(f"the log of its source cannot be read: {error}") from error


def _entry(checkpoint: AnyPath, batch: int) -> int:
    """Up to which entry of the source's log a batch goes."""
    return int(json.loads(_lines(checkpoint / "offsets" / str(batch))[-1])["logOffset"])


def _files(checkpoint: AnyPath, entry: int) -> Iterator[str]:
    path = checkpoint / "sources" / "0" / str(entry)
    try:
        lines = _lines(path)
    except FileNotFoundError:
        lines = _lines(path.with_name(f"{entry}.compact"))
    for line in lines:
        about = json.loads(line)
        if about["batchId"] == entry:
            yield about["path"]


def _lines(path: AnyPath) -> list[str]:
    version, *lines = path.read_text().splitlines()
    if version != "v1":
        raise ValueError(f"{path} has version {version}")
    return lines


def _local(uri: str) -> str:
    """The path of a file that every process of this machine, or all machines, can open."""
    split = urlsplit(uri)
    path = unquote(split.path)
    if split.scheme != "file" or split.netloc:
        raise Unsuited(f"{uri} is not in a local file system")
    if any("=" in part for part in Path(path).parts[:-1]):
        raise Unsuited(f"{uri} may have columns in its path")
    return path
