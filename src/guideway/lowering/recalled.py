"""What was made before, by what it was made from: a table of so many, begun anew when it is full.

`functools.lru_cache` of a method holds the object of the method, which holds the cache: each such
object waited for Python's collector, with all that it leads to.

What this module does not know: who makes what is kept.
"""

from typing import TypeVar, final

Key = TypeVar("Key")
Made = TypeVar("Made")


@final
class Recalled(dict[Key, Made]):
    """A dictionary that is asked with `get`, and filled with `keep`.

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
