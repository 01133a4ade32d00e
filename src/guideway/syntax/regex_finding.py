"""The patterns of JSON Schema: their trees.

A pattern is ECMA-262's. One that begins with flags, (?i) say, is Python's: ECMA-262 has none there.

What this module does not know: automata.
"""

import re
from contextlib import suppress
from functools import lru_cache
from typing import Final

from guideway.errors import GuidewayError, SourceError
from guideway.syntax.regex import parse_regex
from guideway.syntax.regex_tree import (
    Pattern,
)

_FLAGS: Final = re.compile(r"(?:\(\?[A-Za-z]+\))*")


@lru_cache(maxsize=1024)
def parsed(pattern: str) -> Pattern:
    """The tree of a well formed pattern.

    >>> parsed("(?i)a").body.mode.ignore_case
    True
    """
    flags = leading_flags(pattern)
    if not flags:
        return parse_regex(pattern, "ecma")
    try:
        return parse_regex(pattern, "python")
    except SourceError:
        letters = re.sub(r"\W", "", flags)
        with suppress(GuidewayError):  # (?i)(?<name>…) is of neither: flags as RE2 has them
            return parse_regex(f"(?{letters}:{pattern.removeprefix(flags)})", "ecma")
        raise


def leading_flags(pattern: str) -> str:
    """The flags for the whole pattern, as they stand at its beginning.

    >>> leading_flags("(?im)a"), leading_flags("(?i:a)")
    ('(?im)', '')
    """
    found = _FLAGS.match(pattern)
    return "" if found is None else found[0]
