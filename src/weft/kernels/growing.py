"""A flat array that grows at its end: what is added is copied, what is there only now and then."""

from __future__ import annotations

from typing import Any

from weft.kernels.combine import Column, room


class Growing:
    """Values along the first axis, with room for more behind them."""

    def __init__(self, values: Column) -> None:
        self._room = values
        self._size = len(values)

    def __len__(self) -> int:
        return self._size

    @property
    def used(self) -> Column:
        """The values there are, as a view."""
        return self._room[: self._size]

    @property
    def nbytes(self) -> int:
        return int(self.used.nbytes)

    def extend(self, values: Column) -> None:
        size = self._size + len(values)
        if size > len(self._room):
            larger = room((max(size, self._size * 3 // 2, 16), *self._room.shape[1:]), self._room.dtype)
            larger[: self._size] = self.used
            self._room = larger
        self._room[self._size : size] = values
        self._size = size

    def truncate(self, size: int) -> None:
        self._size = size

    def __getstate__(self) -> dict[str, Any]:
        """Without the room behind."""
        return {"_room": self.used, "_size": self._size}
