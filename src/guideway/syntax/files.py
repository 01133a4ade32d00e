"""Texts of sources in files and bytes; a byte order mark is skipped."""

from collections.abc import Callable
from json import detect_encoding
from os import PathLike
from pathlib import Path
from typing import cast

from guideway.errors import SourceError, brief

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
