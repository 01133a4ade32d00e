"""Suggestions for misspelled names."""

from collections.abc import Iterable
from difflib import get_close_matches


def near(given: str, allowed: Iterable[str]) -> str | None:
    """The allowed name that looks like `given`, or None.

    >>> near("strin", ["string", "number"])
    'string'
    """
    folded = {name.casefold(): name for name in allowed}
    found = get_close_matches(given.casefold()[:100], folded, n=1)
    return folded[found[0]] if found else None


def close(given: str, allowed: Iterable[str]) -> str | None:
    """The allowed name of which `given` is surely a misspelling, or None.

    >>> close("requred", ["required"]), close("tpye", ["type"]), close("label", ["enum"])
    ('required', 'type', None)
    """
    folded = {name.casefold(): name for name in allowed}
    word = given.casefold()[:100]
    swapped = [name for name in folded if sorted(name) == sorted(word)]
    found = swapped or get_close_matches(word, folded, n=1, cutoff=0.82)
    return folded[found[0]] if found else None


def did_you_mean(given: object, allowed: Iterable[str]) -> str:
    """A clause for the end of a message, or "".

    >>> did_you_mean("strin", ["string", "number"])
    "; did you mean 'string'?"
    """
    found = near(given, allowed) if isinstance(given, str) else None
    return f"; did you mean {found!r}?" if found else ""
