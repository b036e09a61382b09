"""Does Spark's checkpoint of a stream belong to the stream's log?

    checkpoint/   metadata      the id of the Spark query
                  offsets/41    batch 41 was planned: written before it is handed on
                  commits/41    batch 41 was done: written after its record is in the log

So the log holds every batch that was done, and no batch that was not planned.
"""

from __future__ import annotations

import json
from pathlib import Path

from weft.errors import RunError
from weft.log.catalog import Catalog
from weft.log.ingest import IngestLog

RESTORE = "restore the home as a whole, checkpoint and log together, or start afresh in another home"


def check_checkpoint(checkpoint: Path, catalog: Catalog, log: IngestLog) -> None:
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


def query_id(checkpoint: Path) -> str | None:
    """The id of the Spark query that a checkpoint belongs to; None: it is empty or gone."""
    metadata = checkpoint / "metadata"
    return str(json.loads(metadata.read_text())["id"]) if metadata.exists() else None


def _last(directory: Path) -> int:
    names = [entry.name for entry in directory.iterdir()] if directory.exists() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _refused(code: str, log: IngestLog, what: str, checkpoint: Path, because: str = "") -> RunError:
    where = f"{because} ({checkpoint})" if because else str(checkpoint)
    return RunError(code, f"stream `{log.stream}` {what}", because=where, help=RESTORE)
