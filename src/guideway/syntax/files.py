"""Texts of sources in files and bytes: UTF-8, a byte order mark at the beginning skipped.

Visual Studio and PowerShell write the mark. It is no part of JSON or of a grammar, and cannot be
seen in an editor.
"""

from collections.abc import Callable
from json import detect_encoding
from os import PathLike
from pathlib import Path
from typing import cast

from guideway.errors import SourceError, brief

MARK = "\ufeff"


def checked_path(given: object) -> Path:
    """A path that a user gives.

    Raises:
        SourceError: it is neither a str nor a path.
    """
    try:
        return Path(cast("str | PathLike[str]", given))
    except TypeError:
        raise SourceError(f"a path must be a str or a pathlib.Path, not {brief(given)}") from None


def holds(what: Callable[[], bool]) -> bool:
    """The answer of `is_dir` or `is_file`; False for what cannot be a path."""
    try:
        return what()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def read_file(file: Path, what: str) -> str:
    """The text of a file, without a byte order mark.

    Args:
        file: where it is.
        what: what is in it, for the message.

    Raises:
        SourceError: there is no such file, or it is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # bytes that are not UTF-8, or a name with a NUL
        raise SourceError(f"{what} {str(file)!r} cannot be read: {error}") from None


def decode_json(content: bytes, what: str) -> str:
    r"""JSON text from bytes in UTF-8, UTF-16 or UTF-32, told apart as `json.loads` does it.

    >>> decode_json(b"\xef\xbb\xbf{}", "a schema")
    '{}'

    Raises:
        SourceError: the bytes are in none of these encodings.
    """
    try:
        return content.decode(detect_encoding(content)).removeprefix(MARK)
    except UnicodeDecodeError as error:
        raise SourceError(f"{what} cannot be decoded: {error}") from None
