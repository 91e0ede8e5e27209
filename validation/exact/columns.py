"""Which sign is which: the numbering that runs in doubles and exact runs share."""

from __future__ import annotations


class Columns:
    """Where the signs of each draw stand: they are numbered in the order in which they are asked for."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], int] = {}
        self.count = 0

    def of(self, key: tuple[object, ...], size: int) -> int:
        """The first of `size` columns that belong to a key."""
        if key not in self._first:
            self._first[key], self.count = self.count, self.count + size
        return self._first[key]
