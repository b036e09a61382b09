"""Errors as they are found, so that all of them are told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from weft.errors import Errors, QueryError, WeftError

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Problems:
    """What has been found wrong so far."""

    found: list[WeftError] = field(default_factory=list)

    def attempt(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What `work` returns; if it raises, None, and its errors are noted."""
        try:
            return work(*args, **kwargs)
        except Errors as errors:
            self.found += errors.errors
        except QueryError as error:
            self.found.append(error)
        return None

    def add(self, error: QueryError) -> None:
        self.found.append(error)

    def raise_any(self) -> None:
        raise_all(self.found)


def in_order(found: Iterable[WeftError]) -> list[WeftError]:
    """As they stand in the text, those without a place first."""
    return sorted(found, key=lambda error: error.at[:3] if error.at else ("", 0, 0))


def raise_all(found: Iterable[WeftError]) -> None:
    """Raise the errors, if there are any."""
    errors = tuple(found)
    if errors:
        raise errors[0] if len(errors) == 1 else Errors(errors)
