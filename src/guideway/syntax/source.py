"""Cursor over a source text, and errors with their place in it."""

import re
from typing import final

from guideway.errors import LimitError, SourceError, UnsupportedError


def describe_place(text: str, position: int) -> str:
    r"""Line and column of an offset, counted from 1.

    >>> describe_place("ab\ncd", 4)
    'line 2, column 2'
    """
    line_start = text.rfind("\n", 0, position) + 1
    return f"line {text.count(chr(10), 0, position) + 1}, column {position - line_start + 1}"


@final
class Cursor:
    """A position in a text that moves forward."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.position : self.position + 1]

    def take(self) -> str:
        """Consume the next character, "" at the end."""
        taken = self.peek()
        self.position += len(taken)
        return taken

    def match(self, expected: str) -> bool:
        """Consume `expected` if it comes next."""
        found = self.text.startswith(expected, self.position)
        self.position += len(expected) if found else 0
        return found

    def scan(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume a match of `pattern`, if there is one."""
        found = pattern.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return found

    def run(self, pattern: re.Pattern[str]) -> str:
        """Consume a match of `pattern`, and return its text or ""."""
        found = self.scan(pattern)
        return found.group() if found else ""

    def error(self, message: str, at: int) -> SourceError:
        place = describe_place(self.text, at)
        return SourceError(message, place=place, text=self.text, position=at)

    def unsupported(self, message: str, feature: str, at: int) -> UnsupportedError:
        place = describe_place(self.text, at)
        return UnsupportedError(message, feature=feature, place=place, text=self.text, position=at)

    def exceeded(self, message: str, limit: str, given: int | None, at: int) -> LimitError:
        place = describe_place(self.text, at)
        return LimitError(
            message, limit=limit, given=given, place=place, text=self.text, position=at
        )
