"""Options and fixtures of all tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; review the diff as code")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests that need Spark."""
    from weft.spark.session import build_session  # noqa: PLC0415  tests without Spark must not load it

    session = build_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
