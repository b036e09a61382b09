"""Does Spark's checkpoint of a stream belong to the stream's log?

    checkpoint/   metadata      the id of the Spark query
                  offsets/41    batch 41 was planned: written before it is handed on
                  commits/41    batch 41 was done: written after its record is in the log

So the log holds every batch that was done, and no batch that was not planned.
"""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.log.catalog import Catalog
from weft.log.durable import entries
from weft.log.home import Home, file_name
from weft.log.ingest import IngestLog
from weft.log.paths import AnyPath, hadoop_url, locate
from weft.log.remote import RemotePath
from weft.spark.complaints import complaint

RESTORE = "restore the home as a whole, checkpoint and log together, or start afresh in another home"


PINNED = "checkpoint"  # the setting of a home whose checkpoints are not in it


def place_checkpoints(spark: SparkSession, home: Home, given: AnyPath | None) -> None:
    """Have Spark's checkpoints of a home where they were, or `given`, from its first start on."""
    _pin(home, given)
    pinned = home.settings.get(PINNED)
    _check_reach(spark, home.path / "checkpoints" if pinned is None else locate(pinned))


def _pin(home: Home, given: AnyPath | None) -> None:
    there = home.settings.get(PINNED)
    if given is None or there == str(given.absolute()):
        return
    if there is None and not entries(home.path / "checkpoints"):
        home.pin({PINNED: str(given.absolute())})
        return
    raise RunError(
        "checkpoint-elsewhere",
        f"the checkpoints of this home are in {there or home.path / 'checkpoints'}, not in {given}",
        help="leave out --checkpoint, or start afresh in another home",
    )


def checkpoint_of(home: Home, stream: str) -> AnyPath:
    """Where Spark's checkpoint of a stream is."""
    pinned = home.settings.get(PINNED)
    return home.directory("checkpoints", stream) if pinned is None else locate(pinned) / file_name(stream)


def _check_reach(spark: SparkSession, checkpoint: AnyPath) -> None:
    """Refuse a place elsewhere that Spark does not reach: it has file systems of its own."""
    if not isinstance(checkpoint, RemotePath):
        return
    url = hadoop_url(checkpoint)
    try:
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        path = jvm.org.apache.hadoop.fs.Path(url)
        path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path)
    except Exception as error:
        raise RunError(
            "checkpoint-unreachable",
            f"Spark cannot reach {url}: {complaint(error)}",
            help="give it the package and settings of that file system, such as "
            "--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION, "
            "or put its checkpoints elsewhere with --checkpoint",
        ) from error


def check_checkpoint(checkpoint: AnyPath, catalog: Catalog, log: IngestLog) -> None:
    """Refuse, before a row is read, a checkpoint that is not the one the log was written from."""
    found = query_id(checkpoint)
    if found is None:
        if log.next > 0:
            raise _refused("checkpoint-missing", log, "has a log, but its checkpoint is gone", checkpoint)
        return
    if catalog.spark_query(log.stream) is not None or log.last is None:
        catalog.bind_spark_query(log.stream, found)
    elif log.last.meta["spark"] != found:
        raise _refused("checkpoint-of-another-log", log, "has the checkpoint of another log", checkpoint)
    done, planned = _last(checkpoint / "commits"), _last(checkpoint / "offsets")
    if done >= log.next:
        because = f"it has done batch {done}, the log ends with {log.next - 1}"
        raise _refused("log-missing", log, "has a checkpoint that its log lags behind", checkpoint, because)
    if planned < log.next - 1:
        because = f"it has planned batch {planned}, the log ends with {log.next - 1}"
        raise _refused("checkpoint-old", log, "has a checkpoint older than its log", checkpoint, because)


def query_id(checkpoint: AnyPath) -> str | None:
    """The id of the Spark query that a checkpoint belongs to; None: it is empty or gone."""
    try:
        return str(json.loads((checkpoint / "metadata").read_text())["id"])
    except FileNotFoundError:
        return None


def _last(directory: AnyPath) -> int:
    return max((int(name) for name in entries(directory) if name.isdigit()), default=-1)


def _refused(code: str, log: IngestLog, what: str, checkpoint: AnyPath, because: str = "") -> RunError:
    where = f"{because} ({checkpoint})" if because else str(checkpoint)
    return RunError(code, f"stream `{log.stream}` {what}", because=where, help=RESTORE)
