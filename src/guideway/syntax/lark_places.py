"""Place in the grammar of the regex that an error is about.

Lark joins a terminal into one pattern: `B: "q" | /y(?>a|b)/` becomes `(?:(?:y(?>a|b)|q))`. So the
grammar is searched for a regex that occurs in the pattern around the error.
"""

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import chain
from typing import Final

from guideway.errors import LimitError, UnsupportedError
from guideway.syntax.lark_errors import definition
from guideway.syntax.lark_extensions import SKIPPED
from guideway.syntax.lark_source import Lark
from guideway.syntax.lark_tree import LarkTerminal
from guideway.syntax.source import describe_place

_WRITTEN: Final = re.compile(SKIPPED, re.VERBOSE)
_LETTER: Final = re.compile(r"\\(?:x..|u.{4}|U.{8}|[^xuU])|.", re.DOTALL)
_MEANT: Final = {"n": "\n", "f": "\f", "t": "\t", "r": "\r", '"': '"'}


@contextmanager
def regexes_placed(source: Lark, terminals: Iterable[LarkTerminal]) -> Generator[None]:
    """Give errors in the pattern of a terminal the place of its regex in the grammar."""
    try:
        yield
    except UnsupportedError as error:
        raise _placed(error, source) from None
    except LimitError as error:
        raise _limit_placed(error, source, terminals) from None


def place_of(terminal: LarkTerminal, source: Lark) -> str:
    """Place where a terminal is defined or occurs in a rule; "" if unknown."""
    found = _found(terminal, source)
    return "" if found is None else _shown(*found)


def _limit_placed(error: LimitError, source: Lark, terminals: Iterable[LarkTerminal]) -> LimitError:
    """The error with the place of its terminal."""
    about = next((each for each in terminals if each.pattern == error.text), None)
    found = None if about is None else _found(about, source)
    if found is None:
        return error
    _, text, position = found
    return error.at(_shown(*found), text=text, position=position)


def _found(about: LarkTerminal, source: Lark) -> tuple[str, str, int] | None:
    """Path and text of a grammar, and the position of a terminal in it."""
    texts = {path: read.original for path, read in source.extended.items()}
    alias = re.search(rf"->[ \t]*{about.name}\b", source.text)  # of an import
    own = (("", found) for found in (definition(about.name, source.text), alias))
    defined = ((path, definition(about.name, text)) for path, text in texts.items())
    written = ((path, re.search(re.escape(about.written), text)) for path, text in texts.items())
    path, found = next((each for each in chain(own, defined, written) if each[1]), ("", None))
    return None if found is None else (path, texts[path], found.start())


def _shown(path: str, text: str, position: int) -> str:
    where = describe_place(text, position)
    return f"{path}, {where}" if path else where


def _placed(error: UnsupportedError, source: Lark) -> UnsupportedError:
    """The error with its place; without a caret if no place is found."""
    if error.place or error.text is None or error.position is None:
        return error
    said, _, _ = str(error).partition("\n")
    found = _longest(error.text, error.position, source)
    if found is None:
        return UnsupportedError(said, feature=error.feature)
    _, path, text, at = found
    place = describe_place(text, at)
    place = f"{path}, {place}" if path else place
    return UnsupportedError(said, feature=error.feature, place=place, text=text, position=at)


def _longest(pattern: str, position: int, source: Lark) -> tuple[int, str, str, int] | None:
    """Longest regex around a position: its length, path, grammar, position there."""
    best: tuple[int, str, str, int] | None = None
    for path, read in source.extended.items():
        for found in _WRITTEN.finditer(read.original):
            if not found[0].startswith("/") or found[0].startswith("//"):
                continue
            text, places = _read(found)
            begin = pattern.find(text, max(0, position - len(text) + 1), position + len(text))
            if begin >= 0 and (best is None or len(text) > best[0]):
                best = len(text), path, read.original, places[position - begin]
    return best


def _read(regex: re.Match[str]) -> tuple[str, list[int]]:
    """Lark's pattern of a regex between slashes, with the position of each character."""
    text, places = "", list[int]()
    for letter in _LETTER.finditer(regex.string, regex.start() + 1, regex.end() - 1):
        meant = _meant(letter[0])
        text += meant
        places += range(letter.start(), letter.start() + len(meant))
    return text, places


def _meant(letter: str) -> str:
    """Decode a character or an escape as Lark does; most escapes are left to `re`."""
    if len(letter) == 1:
        return letter
    kind, digits = letter[1], letter[2:]
    return chr(int(digits, 16)) if digits else _MEANT.get(kind, letter)
