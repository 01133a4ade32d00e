"""Suggestions for misspelled names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

SURE: Final = 0.82  # names of this similarity: one is surely a misspelling of the other


def near(given: str, allowed: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The allowed name that is similar to `given`, or None.

    >>> near("strin", ["string", "number"]), near("tpye", ["type"], SURE)
    ('string', 'type')
    """
    folded = {name.casefold(): name for name in allowed}
    word = given.casefold()[:100]
    swapped = [name for name in folded if sorted(name) == sorted(word)]
    found = swapped or get_close_matches(word, folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def did_you_mean(given: object, allowed: Iterable[str]) -> str:
    """A clause for the end of a message, or "".

    >>> did_you_mean("strin", ["string", "number"])
    "; did you mean 'string'?"
    """
    found = near(given, allowed) if isinstance(given, str) else None
    return f"; did you mean {found!r}?" if found else ""
