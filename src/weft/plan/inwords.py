"""Errors in the words of the author: `x.price`, not `_s0_price`; `SUM(qty)`, not `_a0`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from weft.errors import Errors, QueryError, WeftError
from weft.plan.shownparts import reworded


@contextmanager
def in_words(words: Mapping[str, str]) -> Iterator[None]:
    """What is raised inside speaks of columns by the names that their author gave them."""
    try:
        yield
    except Errors as errors:
        raise Errors([_in_words(error, words) for error in errors.errors]) from None
    except QueryError as error:
        raise _in_words(error, words) from None


def _in_words(error: WeftError, words: Mapping[str, str]) -> WeftError:
    if not isinstance(error, QueryError) or not words:
        return error
    what, because, help_ = (reworded(text, words) for text in (error.what, error.because, error.help))
    return QueryError(error.code, what, at=error.at, because=because, help=help_)
