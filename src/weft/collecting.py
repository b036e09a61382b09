"""Python's garbage collector, kept from looking where there is nothing to find."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Work that makes very many objects and no garbage in cycles: collecting meanwhile only takes time.

    A collection looks at everything alive, and a thousand queries are some hundred thousand objects.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def stays() -> None:
    """All that is alive now is taken to stay: collections look at what comes after it only.

    Each would look at the hundred thousand objects of a program again.
    """
    gc.freeze()


def may_go() -> None:
    """What was taken to stay may be garbage by now: collections look at it again."""
    gc.unfreeze()
