"""Every exception that guideway raises on purpose.

The type names the cause, and the attributes contain the data::

    GuidewayError
    ├── SourceError          the source or an argument is wrong (place, caret)
    ├── UnsupportedError     guideway cannot enforce the source exactly
    ├── UnsatisfiableError   no text satisfies the source
    ├── LimitError           a limit is exceeded (given, needed)
    ├── TokenRejected        the constraint does not allow the token
    ├── DeadEndError         no token is left to choose
    ├── ModelError           the model or its files are missing, broken or misbehave
    └── InvalidValueError    a validator refuses the value of a generated text

`GuidewayWarning` names probable mistakes. `GenerationInterrupted` is Ctrl-C during a generation: a
`KeyboardInterrupt`, so `except Exception` does not catch it.

This module imports no other part of guideway.
"""

import warnings
from copy import copy
from inspect import currentframe
from typing import Any, Final, Self, TypedDict, Unpack

_LONGEST: Final = 500  # characters of a message: names, texts and values are the user's


class Where(TypedDict, total=False):
    """The place of an error, as the attributes of `GuidewayError`."""

    place: str
    text: str | None
    position: int | None


class GuidewayError(Exception):
    """Base of all errors that guideway raises on purpose.

    Attributes:
        row: index of the prompt in its batch, from 0; None outside of batches.
        place: the place in the source: "line 1, column 4", or a JSON pointer such as
            "/properties/a"; "" if there is none.
        text: the text with the place, if a text was given.
        position: offset in `text` of the first wrong character.
    """

    row: int | None = None

    def __init__(
        self, message: str, *, place: str = "", text: str | None = None, position: int | None = None
    ) -> None:
        self.place, self.text, self.position = place, text, position
        super().__init__(render(message, place, text, position))

    def at(
        self,
        place: str = "",
        message: str | None = None,
        *,
        text: str | None = None,
        position: int | None = None,
    ) -> Self:
        """Return this error with a place, and with its own message or another one.

        >>> print(LimitError("too many states", limit="states", given=9).at("/items"))
        too many states (at /items)
        """
        found = copy(self)
        said = str(self.args[0]) if message is None else message
        found.place, found.text, found.position = place, text, position
        found.args = (_cut(render(said, place, text, position), _LONGEST),)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the finished message and the attributes, so that worker processes can send it."""
        return _again, (type(self), self.args), self.__dict__

    def in_row(self, row: int) -> Self:
        """Name the row of a batch in this error, and return it.

        >>> print(GuidewayError("no token is left").in_row(3))
        row 3: no token is left
        """
        if self.row is None:
            self.row, self.args = row, (f"row {row}: {self}", *self.args[1:])
        return self


def _again(kind: type[GuidewayError], args: tuple[object, ...]) -> GuidewayError:
    """Return an error with its message, before its attributes are set."""
    return kind.__new__(kind, *args)


class SourceError(GuidewayError):
    """The source is not well formed."""


class UnsupportedError(GuidewayError):
    """The source is well formed, but guideway cannot enforce it exactly.

    Attributes:
        feature: the keyword or construct, by its name in the source language.
    """

    def __init__(self, message: str, *, feature: str = "", **where: Unpack[Where]) -> None:
        self.feature = feature
        super().__init__(message, **where)


class UnsatisfiableError(GuidewayError):
    """No text satisfies the source.

    Attributes:
        conflict: the names of the parts that exclude each other.
    """

    def __init__(
        self, message: str, *, conflict: tuple[str, ...] = (), **where: Unpack[Where]
    ) -> None:
        self.conflict = conflict
        super().__init__(message, **where)


class LimitError(GuidewayError):
    """A limit is exceeded.

    Attributes:
        limit: the name of the limit.
        given: the number that the caller gave or allowed.
        needed: the number that would be needed; None if it is unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        given: int | None = None,
        needed: int | None = None,
        **where: Unpack[Where],
    ) -> None:
        self.limit, self.given, self.needed = limit, given, needed
        super().__init__(message, **where)


class TokenRejected(GuidewayError):  # noqa: N818  the contract fixes the name
    """The constraint does not allow the token here.

    Attributes:
        token: the id.
        spelling: its bytes; None for an id without spelling.
    """

    def __init__(self, message: str, *, token: int, spelling: bytes | None = None) -> None:
        self.token, self.spelling = token, spelling
        super().__init__(message)


class DeadEndError(GuidewayError):
    """Settings or another processor leave no token to choose."""


class ModelError(GuidewayError):
    """The model, its tokenizer or its files are missing or broken, or its values are no numbers."""


class InvalidValueError(GuidewayError):
    """A generated text has no value: a validator of the type refuses it.

    The constraint allows the text, because a mask cannot enforce the validator. `__cause__` is
    pydantic's error, or whatever else the validator raised.

    Attributes:
        result: the `Result` with the text.
    """

    result: Any = None


class GuidewayWarning(UserWarning):
    """A call works as documented, but is probably a mistake, or slower than necessary."""


def warn(message: str) -> None:
    """Issue a `GuidewayWarning` that points at the first caller outside of guideway."""
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("guideway."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, GuidewayWarning, stacklevel=level)


class GenerationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a generation.

    Attributes:
        results: the results so far, in order. Finished texts have their values; for the others
            `finish_reason` is "interrupted". Rows that have not begun are missing at the end.
    """

    def __init__(self, results: list[Any]) -> None:
        self.results = results
        super().__init__("the generation was interrupted")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the results."""
        return GenerationInterrupted, (self.results,)


def render(message: str, place: str, text: str | None, position: int | None) -> str:
    """`message` with its place, and the line of `text` with a caret under `position`.

    It has 500 characters at most, whatever the source: what is longer is cut in its middle.
    """
    alone = not place and (text is None or position is None)
    head = _cut(message, _LONGEST if alone else 280)
    head = f"{head} (at {_cut(place, 80)})" if place else head
    if text is None or position is None:
        return head
    start = text.rfind("\n", 0, position) + 1
    stop = text.find("\n", position)
    line = text[start : stop if stop >= 0 else len(text)]
    # A long line is shown around the place only: 60 characters fit a terminal beside the margin.
    cut = max(0, position - start - 40)
    shown = line[cut : cut + 60]
    return f"{head}\n  {shown}\n  {' ' * (position - start - cut)}^"


def one_line(text: str) -> str:
    r"""A text for a `repr`: one line of at most 200 characters, cut in its middle.

    >>> one_line("array([1,\n       2])"), len(one_line("x" * 300))
    ('array([1, 2])', 199)
    """
    return _cut(" ".join(map(str.strip, text.splitlines())), 200)


def brief(value: object, most: int = 60) -> str:
    """A value of the user's for a message: how Python writes it, in `most` characters at most.

    >>> brief("yes"), len(brief("yes" * 40)), brief(10**5000)
    ("'yes'", 59, 'a very large int')
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of 5,000 digits
        text = f"a very large {type(value).__name__}"
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    except Exception:  # noqa: BLE001  a __repr__ is the user's program: it raises what it likes
        text = f"a {type(value).__name__} that cannot be shown"
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    half = most // 2 - 1
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
