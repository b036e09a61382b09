"""Tests of the log run on homes of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores import url
from weft.log.home import Home
from weft.log.paths import AnyPath, locate


@pytest.fixture(params=["here", "bucket", "share"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> AnyPath:
    """An empty directory: of this machine, of an object store, or of a file system that renames."""
    return locate(url(request.param, tmp_path))


@pytest.fixture
def home(place: AnyPath) -> Iterator[Home]:
    with Home.open(place / "h") as home:
        yield home
