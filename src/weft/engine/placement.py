"""Where the cells of a program may be held: what a user can ask for."""

from __future__ import annotations

from weft.errors import RunError

DRIVER, EXECUTORS, AUTO = PLACEMENTS = ("driver", "executors", "auto")


def check_placement(placement: str, buckets: int | None) -> None:
    """Refuse what is none of them."""
    if placement not in PLACEMENTS:
        raise RunError(
            "unknown-placement",
            f"there is no placement {placement!r}",
            help="use 'driver', 'executors' or 'auto'",
        )
    if buckets is not None and buckets < 1:
        raise RunError(
            "bad-buckets",
            f"cells cannot be held in {buckets} buckets",
            help="use at least one, or leave `buckets` out: then there are as many as tasks run at once",
        )
