"""Reading what users give: a cursor in a text, places for messages, files, pickling."""

import pickle
import re
import sys
from collections.abc import Callable
from json import detect_encoding
from os import PathLike
from pathlib import Path
from typing import cast

from guideway.errors import LimitError, SourceError, UnsupportedError, Where, brief


def describe_place(text: str, position: int, path: str = "") -> str:
    r"""Line and column of an offset, counted from 1, after the path of an imported text.

    >>> describe_place("ab\ncd", 4)
    'line 2, column 2'
    """
    column = position - text.rfind("\n", 0, position)
    found = f"line {text.count(chr(10), 0, position) + 1}, column {column}"
    return f"{path}, {found}" if path else found


def where(text: str, position: int, path: str = "") -> Where:
    """An offset in a text, for an error."""
    return {"place": describe_place(text, position, path), "text": text, "position": position}


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
        return SourceError(message, **where(self.text, at))

    def unsupported(self, message: str, feature: str, at: int) -> UnsupportedError:
        return UnsupportedError(message, feature=feature, **where(self.text, at))

    def exceeded(self, message: str, limit: str, given: int | None, at: int) -> LimitError:
        return LimitError(message, limit=limit, given=given, **where(self.text, at))


MARK = "\ufeff"


def checked_path(given: object) -> Path:
    """The path that a user gives; other types are refused."""
    try:
        return Path(cast("str | PathLike[str]", given))
    except TypeError:
        raise SourceError(f"a path must be a str or a pathlib.Path, not {brief(given)}") from None


def holds(what: Callable[[], bool]) -> bool:
    """Answer of `is_dir` or `is_file`; False for names that no path can have."""
    try:
        return what()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def read_file(file: Path, what: str) -> str:
    """The text of a UTF-8 file; `what` names it in errors."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # bytes that are not UTF-8, or a name with a NUL
        raise SourceError(f"{what} {str(file)!r} cannot be read: {error}") from None


def decode_json(content: bytes, what: str) -> str:
    r"""JSON text from bytes in UTF-8, UTF-16 or UTF-32, as `json.loads` detects them."""
    try:
        return content.decode(detect_encoding(content)).removeprefix(MARK)
    except UnicodeDecodeError as error:
        raise SourceError(f"{what} cannot be decoded: {error}") from None


def check_pickled(value: object, what: str) -> None:
    """Refuse an object that neither pickle nor a loaded cloudpickle supports.

    pickle stores types and functions by reference, so they must be in a module. Ray and joblib use
    cloudpickle, which stores local ones too.
    """
    library = sys.modules.get("cloudpickle")
    problem: Exception | None = None
    for dumps in (pickle.dumps, *([] if library is None else [library.dumps])):
        try:
            dumps(value)
        except Exception as error:  # noqa: BLE001  pickling calls the user's code
            problem = problem or error
        else:
            return
    raise UnsupportedError(
        f"{what} {brief(value)} cannot be pickled ({problem}): define it at the top level of a "
        "module that the other process can import",
        feature="pickle",
    ) from problem
