"""A source text read from left to right, and the errors that point into it.

Offsets count characters from 0; people get lines and columns counted from 1. This file knows no
language: what the characters mean is the parsers' affair.
"""

import re
from typing import final

from guideway.errors import LimitError, SourceError, UnsupportedError


def describe_place(text: str, position: int) -> str:
    r"""The line and the column of an offset.

    >>> describe_place("ab\ncd", 4)
    'line 2, column 2'
    """
    line_start = text.rfind("\n", 0, position) + 1
    return f"line {text.count(chr(10), 0, position) + 1}, column {position - line_start + 1}"


@final
class Cursor:
    """A place in a text that moves forward.

    >>> cursor = Cursor("(?:a)")
    >>> cursor.match("(?:"), cursor.peek(), cursor.take(), cursor.position
    (True, 'a', 'a', 4)

    Attributes:
        text: the whole text.
        position: offset of the next character to be read.
    """

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        """At the beginning of `text`."""
        self.text, self.position = text, 0

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.position : self.position + 1]

    def take(self) -> str:
        """The next character, "" at the end, and on to the one after."""
        taken = self.peek()
        self.position += len(taken)
        return taken

    def match(self, expected: str) -> bool:
        """Whether `expected` comes next; if so, on to what follows it."""
        found = self.text.startswith(expected, self.position)
        self.position += len(expected) if found else 0
        return found

    def scan(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The match of `pattern` here, if there is one, and on to what follows it."""
        found = pattern.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return found

    def run(self, pattern: re.Pattern[str]) -> str:
        """What `pattern` matches here, "" if it does not, and on to what follows it."""
        found = self.scan(pattern)
        return found.group() if found else ""

    def error(self, message: str, at: int) -> SourceError:
        """The text is wrong at offset `at`."""
        place = describe_place(self.text, at)
        return SourceError(message, place=place, text=self.text, position=at)

    def unsupported(self, message: str, feature: str, at: int) -> UnsupportedError:
        """The text means, at offset `at`, something that cannot be honoured."""
        place = describe_place(self.text, at)
        return UnsupportedError(message, feature=feature, place=place, text=self.text, position=at)

    def exceeded(self, message: str, limit: str, given: int | None, at: int) -> LimitError:
        """The text asks, at offset `at`, for more than is allowed."""
        place = describe_place(self.text, at)
        return LimitError(
            message, limit=limit, given=given, place=place, text=self.text, position=at
        )
