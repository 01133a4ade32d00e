"""Patterns of JSON Schema as trees."""

import re
from contextlib import suppress
from functools import lru_cache
from typing import Final

from guideway.errors import GuidewayError, SourceError
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Pattern

_FLAGS: Final = re.compile(r"(?:\(\?[A-Za-z]+\))*")


@lru_cache(maxsize=1024)
def parsed(pattern: str) -> Pattern:
    flags = leading_flags(pattern)
    if not flags:
        return parse_regex(pattern, "ecma")
    try:
        return parse_regex(pattern, "python")
    except SourceError:
        letters = re.sub(r"\W", "", flags)
        with suppress(GuidewayError):  # (?i)(?<name>…) is in neither dialect, but in RE2
            return parse_regex(f"(?{letters}:{pattern.removeprefix(flags)})", "ecma")
        raise


def leading_flags(pattern: str) -> str:
    found = _FLAGS.match(pattern)
    return "" if found is None else found[0]
