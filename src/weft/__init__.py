"""weft: hundreds of continuous SQL queries, woven into one Spark job."""

from typing import TYPE_CHECKING, Any

from weft.errors import QueryError, RunError, WeftError

if TYPE_CHECKING:
    from weft.session import Session

__all__ = ["QueryError", "RunError", "Session", "WeftError"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`weft.Session`, imported when it is first asked for: the command line starts faster without it."""
    if name == "Session":
        from weft.session import Session  # noqa: PLC0415

        return Session
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
