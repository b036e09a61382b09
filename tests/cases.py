"""Which cases of a test always run; the rest do with `make slow`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def first(often: int, every: Sequence[Any]) -> list[Any]:
    """The first of some cases always, the others when there is time."""
    return [*every[:often], *_slow(every[often:])]


def each(step: int, every: Sequence[Any]) -> list[Any]:
    """Every so manieth of some cases always, the others when there is time."""
    return [case if at % step == 0 else _slow([case])[0] for at, case in enumerate(every)]


def in_parts(count: int) -> pytest.MarkDecorator:
    """The examples of a test in so many parts: the first always runs, the others when there is time."""
    return pytest.mark.parametrize("part", first(1, range(count)))


def _slow(cases: Sequence[Any]) -> list[Any]:
    parts = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*each, marks=pytest.mark.slow) for each in parts]
