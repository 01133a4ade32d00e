"""Every exception guideway raises on purpose.

The type says whose fault it is, the attributes carry the data::

    GuidewayError
    ├── SourceError          the source text is wrong (place, caret)
    ├── UnsupportedError     the source means something guideway cannot honour exactly
    ├── UnsatisfiableError   the source denotes no text at all
    ├── LimitError           a budget or a count is exceeded (needed / given / allowed)
    ├── TokenRejected        a token that the constraint does not allow was offered
    ├── DeadEndError         no token is left to choose from
    ├── ModelError           the model or its files are missing, broken or misbehave
    └── InvalidValueError    a generated text is valid, but a validator refuses its value

`GuidewayWarning` says what is probably a mistake. `GenerationInterrupted` is Ctrl-C during a
generation: a `KeyboardInterrupt`, so `except Exception` does not catch it.

Nothing here knows any other part of guideway.
"""

import warnings
from inspect import currentframe
from typing import Any, Final, Self, final

_LONGEST: Final = 500  # characters of a message: names, texts and values are the user's


class GuidewayError(Exception):
    """Base of all errors that guideway raises on purpose.

    Attributes:
        row: the place of the prompt in its batch, counted from 0; None outside of batches.
    """

    row: int | None = None

    def __init__(self, message: str) -> None:
        super().__init__(_cut(message, _LONGEST))

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
    """An error with its message, before its attributes are set."""
    return kind.__new__(kind, *args)


@final
class SourceError(GuidewayError):
    """The source is not well formed.

    Attributes:
        place: where, in words ("line 1, column 4", or a JSON pointer such as "/properties/a").
        text: the text that was given, if it is a text.
        position: offset of the first wrong character in `text`.
    """

    def __init__(
        self, message: str, *, place: str = "", text: str | None = None, position: int | None = None
    ) -> None:
        self.place, self.text, self.position = place, text, position
        super().__init__(render(message, place, text, position))


@final
class UnsupportedError(GuidewayError):
    """The source is well formed, but means something that cannot be enforced exactly.

    Attributes:
        feature: the keyword or construct, by its name in the source language.
        place: where it stands (line and column, or JSON pointer).
    """

    def __init__(
        self,
        message: str,
        *,
        feature: str = "",
        place: str = "",
        text: str | None = None,
        position: int | None = None,
    ) -> None:
        self.feature, self.place, self.text, self.position = feature, place, text, position
        super().__init__(render(message, place, text, position))


@final
class UnsatisfiableError(GuidewayError):
    """No text satisfies the source.

    Attributes:
        place: where the conflict stands.
        conflict: the parts that exclude each other, by name.
    """

    def __init__(self, message: str, *, place: str = "", conflict: tuple[str, ...] = ()) -> None:
        self.place, self.conflict = place, conflict
        super().__init__(render(message, place, None, None))


@final
class LimitError(GuidewayError):
    """A limit is exceeded.

    Attributes:
        limit: the limit's name.
        given: what was given or allowed by the caller.
        needed: what would be needed, where it is known.
        place: where in the source, if it is about a source.
        text: the text that was given, if it is about a text.
        position: offset in `text` of what is too much.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        given: int | None = None,
        needed: int | None = None,
        place: str = "",
        text: str | None = None,
        position: int | None = None,
    ) -> None:
        self.limit, self.given, self.needed, self.place = limit, given, needed, place
        self.text, self.position = text, position
        super().__init__(render(message, place, text, position))

    def at(
        self,
        place: str = "",
        message: str | None = None,
        *,
        text: str | None = None,
        position: int | None = None,
    ) -> "LimitError":
        """The same limit where it is known what exceeds it: its message, or another.

        >>> print(LimitError("too many states", limit="states", given=9).at("/items"))
        too many states (at /items)
        """
        return LimitError(
            str(self.args[0]) if message is None else message,
            limit=self.limit,
            given=self.given,
            needed=self.needed,
            place=place,
            text=text,
            position=position,
        )


@final
class TokenRejected(GuidewayError):  # noqa: N818  the contract fixes the name
    """A token was offered that the constraint does not allow here.

    Attributes:
        token: the id.
        spelling: its bytes, None for an id without spelling.
    """

    def __init__(self, message: str, *, token: int, spelling: bytes | None = None) -> None:
        self.token, self.spelling = token, spelling
        super().__init__(message)


@final
class DeadEndError(GuidewayError):
    """Settings or another processor leave no token to choose."""


@final
class ModelError(GuidewayError):
    """The model, its tokenizer or its files are missing or broken, or its values are no numbers."""


@final
class InvalidValueError(GuidewayError):
    """A generated text has no value: a validator of the type refuses it.

    The constraint allows the text, because a mask cannot enforce the validator. `__cause__` is
    pydantic's error, or whatever else the validator raised.

    Attributes:
        result: the `Result` with the text.
    """

    result: Any = None


class GuidewayWarning(UserWarning):
    """A call does what it says, and is probably a mistake, or slower than it could be."""


def warn(message: str) -> None:
    """Issue a `GuidewayWarning` that points at the first caller outside of guideway."""
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("guideway."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, GuidewayWarning, stacklevel=level)


@final
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
    head = _cut(message, 280)
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
