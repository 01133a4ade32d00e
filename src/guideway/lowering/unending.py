"""The error for a grammar in which no text ends."""

from collections.abc import Sequence
from typing import Final

from guideway.errors import UnsatisfiableError

_NAMED: Final = 5  # rules in a message


def unending(rules: Sequence[str]) -> UnsatisfiableError:
    """The error that names rules of which each alternative needs another one of them.

    >>> print(unending(["start", "x"]))
    no text ends, because every alternative of these rules leads to one of them: start, x
    """
    named = ", ".join(rules[:_NAMED]) + (", …" if len(rules) > _NAMED else "")
    return UnsatisfiableError(
        f"no text ends, because every alternative of these rules leads to one of them: {named}",
        conflict=tuple(rules),
    )
