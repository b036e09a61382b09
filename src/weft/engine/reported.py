"""What a program that another process runs has measured, by what it reports."""

from __future__ import annotations

import time

from weft.engine.status import STATUS_FILE, Status
from weft.errors import RunError
from weft.log.paths import AnyPath
from weft.share.model.measured import Measured

SILENT_AFTER = 60.0  # seconds: a program that runs reports about once a second


def reported(home: AnyPath) -> Measured:
    """What the program that runs on this home has counted and used; raises if none does."""
    try:
        status = Status.from_json((home / STATUS_FILE).read_text())
    except (OSError, ValueError, TypeError, KeyError):  # none, or of another version
        raise _not_running(home, "it has no report of a run") from None
    if status.state == "stopped":
        raise _not_running(home, "it has ended")
    if time.time() - status.updated > SILENT_AFTER or not status.measured:
        raise _not_running(home, "it has not been heard of for a minute")
    return Measured.from_json(status.measured)


def _not_running(home: AnyPath, why: str) -> RunError:
    return RunError(
        "not-running",
        f"no program runs on {home}, so nothing was measured",
        because=why,
        help="start it with `weft run`; without ANALYZE, explain tells what is predicted",
    )
