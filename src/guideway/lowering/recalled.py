"""A bounded cache for methods that keeps no reference to its owner."""

from typing import TypeVar, final

Key = TypeVar("Key")
Made = TypeVar("Made")


@final
class Recalled(dict[Key, Made]):
    """A dictionary that is read with `get`, filled with `keep`, and cleared when it is full.

    >>> table = Recalled[int, str](most=1)
    >>> table.keep(3, "a"), table.keep(4, "b"), table.get(3), table.get(4)
    ('a', 'b', None, 'b')
    """

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        self._most = most

    def keep(self, key: Key, made: Made) -> Made:
        """Keep what was made for a key, and give it back."""
        if len(self) >= self._most:
            self.clear()
        self[key] = made
        return made
