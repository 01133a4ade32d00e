"""What Lark says of a grammar that it refuses, with line, column, caret and a near name.

Lark tells the place of what it cannot read, and of everything else only the names: they are looked
for in the text. Errors that Lark did not mean to raise (it asserts, indexes and unpacks while it
reads) are errors of the grammar all the same.
"""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, final

from fairlead.errors import FairleadError, LimitError, SourceError
from fairlead.syntax.names import did_you_mean

_UNINTENDED: Final = (
    AssertionError, AttributeError, ImportError, LookupError, re.error, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip
_NAMED: Final = (  # the first that is found tells what it is about
    re.compile(r"<(\w+) :"),
    re.compile(r"'(\w+)'"),
    re.compile(r"not defined: (\w+)"),
    re.compile(r"\((\w+)[:)]"),
    re.compile(r"(?:[Rr]ule|[Tt]erminal) (\w+)"),
)
_DEFINED: Final = re.compile(
    r"^[ \t]*(?:%override[ \t]+|%extend[ \t]+)?[?!]*(\w+)[ \t]*(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:",
    re.MULTILINE,
)
_PLACE: Final = re.compile(r",? at line \S+ column \S+", re.DOTALL)


@final
@dataclass(slots=True)
class Reading:
    """A grammar while Lark reads it.

    Attributes:
        text: the grammar.
        files: the texts that it imports, by path.
        at: the path of what was imported last.
    """

    text: str
    files: Mapping[str, str]
    at: str = ""

    def wrong(self, message: str, name: str = "") -> SourceError:
        """An error about `name`, placed where it stands first."""
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text) if name else None
        return self.placed(message, None if found is None else found.start())

    def placed(self, message: str, position: int | None, path: str = "") -> SourceError:
        """An error at a position of the text, or of one that it imports."""
        text = self.files[path] if path else self.text
        if position is None:
            return SourceError(message, text=text)
        position = min(position, len(text))
        line = text.count("\n", 0, position) + 1
        column = position - (text.rfind("\n", 0, position) + 1) + 1
        where = f"{path}, line {line}, column {column}" if path else f"line {line}, column {column}"
        return SourceError(message, place=where, text=text, position=position)

    def names(self) -> list[str]:
        """What the text defines."""
        return _DEFINED.findall(self.text)


@contextmanager
def refusals(reading: Reading) -> Generator[None]:
    """Lark's errors inside as ours.

    Raises:
        SourceError: Lark refuses the grammar.
        LimitError: it nests deeper than Lark reads.
    """
    errors: Any = import_module("lark.exceptions")
    try:
        yield
    except FairleadError:
        raise
    except RecursionError:
        raise LimitError(
            "the grammar nests deeper than Lark itself can read", limit="nesting"
        ) from None
    except errors.LarkError as error:
        unread = error if isinstance(error, errors.UnexpectedInput) else error.__context__
        if isinstance(unread, errors.UnexpectedInput):
            raise _unread(error, unread, reading) from None
        raise _refused(str(error), reading) from None
    except _UNINTENDED as error:
        said = str(error).strip() or type(error).__name__
        raise _refused(f"Lark cannot read this grammar: {said}", reading) from None


def _unread(error: Exception, unread: Any, reading: Reading) -> SourceError:
    """What Lark's parser of grammars stopped at."""
    position = unread.pos_in_stream
    head = str(error).split("\n", 1)[0]
    message = _PLACE.split(head, maxsplit=1)[0]
    return reading.placed(message, position if isinstance(position, int) else None, reading.at)


def _refused(said: str, reading: Reading) -> SourceError:
    """What Lark read, and refused."""
    message = re.sub(r"\s*\n\s*", " ", said.strip())
    found = (pattern.search(message) for pattern in _NAMED)
    name = next((match[1] for match in found if match), "")
    defined = reading.names()
    near = did_you_mean(name, defined) if name and name not in defined else ""
    return reading.wrong(message + near, name)
