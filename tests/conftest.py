"""Options and fixtures of all tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No JVM of a test lives long enough to earn back the time of its optimising compiler.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

MEMORY, ENOUGH = Path("/dev/shm"), 4 << 30  # bytes that must be free, or tests stay on the disk


def pytest_configure() -> None:
    """Told by the environment, so that every program a test starts is told as well."""
    for told in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        os.environ.setdefault(told, SHORT_LIVED)
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # homes are synced often


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; review the diff as code")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests that need Spark."""
    from weft.spark.session import build_session  # noqa: PLC0415  tests without Spark must not load it

    session = build_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
