"""The Spark session weft runs on: one it builds, or one it is given and checks."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.spark.complaints import complaint

MEANING = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
}
"""What decides values: a session that differs is refused, for its answers would."""

SPEED = {
    "spark.sql.adaptive.enabled": "false",  # level 1 shuffles little; re-planning costs more than it saves
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""What a session weft builds sets besides; a session of the user's works without."""

START = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What takes effect only when the session starts."""

LOOPBACK = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Likewise, where all is in one process; the executors of a cluster would look for the driver at home."""

_JAVA_OPTIONS = "-XX:-DontCompileHugeMethods"
_QUIET = Path(__file__).parent / "log4j2.properties"


def build_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session with all that weft needs, by default on this machine.

    What `conf` says goes before what weft would choose, and so does what spark-submit was told.
    """
    chosen = choose(master, conf or {}, _submitted())
    _choose_python(chosen.get("spark.pyspark.python"))
    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # whatever it is, Spark is not there
        raise RunError(
            "spark-does-not-start",
            f"Spark does not start: {complaint(error)}",
            help="run `weft doctor`: it looks for Java 17 or 21 and says what is wrong",
        ) from error
    check_session(spark)
    return spark


def choose(master: str | None, conf: Mapping[str, str], submitted: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session; `submitted` are those of the JVM that it is to run in, if there is one."""
    given = {**submitted, **conf} | ({} if master is None else {"spark.master": master})
    chosen = {"spark.app.name": "weft", "spark.master": "local[*]"} | MEANING | SPEED | given
    chosen.setdefault("spark.sql.shuffle.partitions", str(cores(chosen["spark.master"])))
    if submitted:
        return chosen
    start = START | (LOOPBACK if chosen["spark.master"].startswith("local") else {})
    java = _java_options(given.get("spark.driver.extraJavaOptions", ""))
    return start | chosen | {"spark.driver.extraJavaOptions": java}


def _submitted() -> dict[str, str]:
    """The settings of the JVM that spark-submit has started and runs us in; none if it has not."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _choose_python(given: str | None) -> None:
    """Say with what Python workers are started: PySpark looks at its environment alone."""
    if given is not None:
        os.environ["PYSPARK_PYTHON"] = given
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers are whatever `python3` is


def check_session(spark: SparkSession) -> None:
    """Refuse a session whose settings would change what a query means."""
    # PySpark logs every error of the analyzer with its stack, also those that weft asks for and explains.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    wrong = [(key, want) for key, want in MEANING.items() if _setting(spark, key).lower() != want.lower()]
    if wrong:
        mend = "; ".join(f'spark.conf.set("{key}", "{want}")' for key, want in wrong)
        raise RunError(
            "session-settings",
            "this Spark session computes other values than weft promises: "
            + ", ".join(f"{key} = {_setting(spark, key)}" for key, _ in wrong),
            help=f"before it is given to weft: {mend}",
        )


def cores(master: str) -> int:
    """How many tasks run at once: the threads of a local master; elsewhere a start of eight."""
    match = re.fullmatch(r"local\[(\*|\d+)(?:,\d+)?\]", master)
    if match:
        return (os.cpu_count() or 1) if match[1] == "*" else int(match[1])
    return 1 if master == "local" else 8


def _setting(spark: SparkSession, key: str) -> str:
    return str(spark.conf.get(key))  # Spark's own default where the session says nothing


def _java_options(given: str) -> str:
    return " ".join(
        part for part in (_JAVA_OPTIONS, f"-Dlog4j2.configurationFile=file:{_QUIET}", given) if part
    )
