"""Sources: descriptions of sets of texts, which combine like sets.

    a + b     a text of a, then one of b          a & b   texts of both
    a | b     a text of either                    a - b   texts of a that are not in b
    ~a        any text that is not in a           repeat(a, 1, 3)

Sources are equal by content, so that compiled ones can be cached. This module holds what was
written; `regex.parser`, `json_schema.parser` and `python_types.source` read it. `Source[int]` is a
source whose values are ints.
"""

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Self,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
    overload,
)
from typing import Literal as OneOf

from typing_extensions import TypeVar

from guideway.errors import SourceError, brief, one_line
from guideway.sources.json_style import KeyOrder, Spelling, Style, Whitespace, WhitespaceName
from guideway.sources.mistakes import check_literal, instead
from guideway.sources.names import did_you_mean
from guideway.sources.reading import MARK, check_pickled

Dialect = OneOf["python", "ecma"]
DIALECTS: tuple[Dialect, ...] = ("python", "ecma")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}

Value_co = TypeVar("Value_co", covariant=True, default=Any)
Read = TypeVar("Read", default=str)
"""The type of the values of a source; `str` for strings and patterns."""
if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

    Written: TypeAlias = "Source[Read] | TypeAdapter[Read] | re.Pattern[str] | str"
    """A source whose values have the type `Read`."""


class Source(Generic[Value_co]):
    """Base of all sources. It carries the operators and a short `repr`."""

    __slots__ = ()

    def __init_subclass__(cls, **more: object) -> None:
        """Give a source a short repr, unless it has its own."""
        super().__init_subclass__(**more)
        if "__repr__" not in cls.__dict__:  # and dataclass keeps what is there
            cls.__repr__ = _shown

    @overload
    def __add__(self: "Source[str]", other: "Written[str]") -> "Source[str]": ...
    @overload
    def __add__(self, other: object) -> "Source": ...
    def __add__(self, other: object) -> "Source":
        """A text of this, then one of the other."""
        return Sequence((*_operands(self, Sequence), source(other)))

    def __radd__(self, other: object) -> "Source":
        return Sequence((source(other), self))

    @overload
    def __or__(self, other: "Written[Read] | type[Read]") -> "Source[Value_co | Read]": ...
    @overload
    def __or__(self, other: object) -> "Source": ...
    def __or__(self, other: object) -> "Source":
        """A text of either."""
        return Either((*_operands(self, Either), source(other)))

    def __ror__(self, other: object) -> "Source":
        return Either((source(other), self))

    def __and__(self, other: object) -> "Source":
        """Texts of both."""
        return Both((*_operands(self, Both), source(other)))

    def __rand__(self, other: object) -> "Source":
        return Both((source(other), self))

    def __sub__(self, other: object) -> "Source[Value_co]":
        """Texts of this that are not in the other."""
        return Both((self, Inverse(source(other))))

    def __rsub__(self, other: object) -> "Source":
        return Both((source(other), Inverse(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: sources are values."""
        return self

    def __invert__(self) -> "Source[str]":
        """Any text that is not in this."""
        return Inverse(self)


def _shown(self: Any) -> str:
    """Name and fields of a source, shortened."""
    shown = [f"{f.name}={brief(getattr(self, f.name), 200)}" for f in fields(self) if f.repr]
    return one_line(f"{type(self).__name__}({', '.join(shown)})")


@dataclass(frozen=True)
class Regex(Source[str]):
    """The texts that match a pattern as a whole, as `re.fullmatch`.

    Example:
        >>> Regex(r"[0-9]{4}").pattern
        '[0-9]{4}'

    Attributes:
        pattern: the regular expression.
        dialect: "python" is that of `re`; "ecma" is JSON Schema's: ECMA-262 with the u flag.
        flags: any of "imsxa", as in `(?im)`.
    """

    pattern: str
    dialect: Dialect = "python"
    flags: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.pattern, re.Pattern):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(
                f"a pattern must be a str, not {brief(self.pattern)}; use it as the source, "
                "without Regex"
            )
        check_text(self.pattern, "a pattern")
        check_option("dialect", self.dialect, DIALECTS)
        if not isinstance(self.flags, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            given = brief(self.flags)
            raise SourceError(f"flags must be letters of 'imsxau', as in (?im), not {given}")


@dataclass(frozen=True, init=False)
class Choice(Source[str]):
    """One of the given strings.

    Example:
        >>> Choice(["yes", "no"]).options
        ('yes', 'no')
    """

    options: tuple[str, ...]

    def __init__(self, options: Iterable[str]) -> None:
        """Refuse a single string, which would be read letter by letter."""
        if isinstance(options, str | Mapping) or not isinstance(options, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(
                f"Choice needs a list of strings, not {brief(cast('object', options))}"
            )
        if isinstance(options, type) and not issubclass(options, str):
            raise SourceError(f"{brief(options)} is a type: use it as the source, without Choice")
        listed = tuple(options)
        for option in listed:
            check_text(option, "an option of Choice")
        if not listed:
            raise SourceError("Choice needs at least one option")
        object.__setattr__(self, "options", tuple(dict.fromkeys(listed)))


@dataclass(frozen=True)
class Gbnf(Source[str]):
    """The texts of a grammar in llama.cpp's notation.

    Example:
        >>> Gbnf('root ::= "a" root | "b"').root
        'root'

    Attributes:
        text: the grammar.
        root: the rule of whole texts.
        tokens: the special tokens in it, once the vocabulary is known.
    """

    text: str
    root: str = "root"
    tokens: tuple[tuple[str, Source], ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        check_text(self.text, "a grammar")
        object.__setattr__(self, "text", self.text.removeprefix(MARK))
        check_text(self.root, "the name of a rule")


def with_tokens(grammar: Gbnf, tokens: Mapping[str, Source]) -> Gbnf:
    """The same grammar with these special tokens."""
    found = copy(grammar)
    object.__setattr__(found, "tokens", tuple(tokens.items()))
    return found


@dataclass(frozen=True)
class Text(Source[str]):
    """Any text: any sequence of whole characters, the empty one included."""


@dataclass(frozen=True)
class Literal(Source[str]):
    """Exactly this text; a plain string among sources means the same."""

    text: str

    def __post_init__(self) -> None:
        check_text(self.text, "a literal")


@dataclass(frozen=True)
class Sequence(Source):
    """A text of each part, in order: `a + b`."""

    parts: tuple[Source, ...]


@dataclass(frozen=True)
class Either(Source):
    """A text of any of the parts: `a | b`."""

    parts: tuple[Source, ...]


@dataclass(frozen=True)
class Both(Source):
    """Texts of all parts at once: `a & b`, and with an inverse `a - b`."""

    parts: tuple[Source, ...]


@dataclass(frozen=True)
class Inverse(Source[str]):
    """Any text (valid UTF-8) that is not in the item: `~a`."""

    item: Source


@dataclass(frozen=True)
class Repetition(Source[str]):
    """`low` to `high` texts of the item in a row (`high` None: any number)."""

    item: Source
    low: int
    high: int | None


@dataclass(frozen=True)
class PythonType(Source[Value_co]):
    """The JSON of a value of a Python type, as pydantic reads it.

    The options are those of `JsonSchema`. For None `compile` uses "any", and `generate` the style
    of `plain_form`.

    Attributes:
        type: anything that `pydantic.TypeAdapter` takes, a TypeAdapter, or a callable, for its
            arguments.
        key_order: "any", or "declared".
        whitespace: "any", "compact", "natural", or a `Whitespace`.
        spelling: "any", or "plain".
    """

    type: object
    key_order: KeyOrder | None = None
    whitespace: WhitespaceName | Whitespace | None = None
    spelling: Spelling | None = None

    def __post_init__(self) -> None:
        check_style(*("any" if given is None else given for given in self.style))

    @property
    def style(self) -> Style:
        return self.key_order, self.whitespace, self.spelling

    @property
    def plain_form(self) -> "PythonType":
        """The same type: keys in declared order, natural whitespace, plain spelling, if not set."""
        key_order, whitespace, spelling = self.style
        return PythonType(
            self.type, key_order or "declared", whitespace or "natural", spelling or "plain"
        )

    def __eq__(self, other: object) -> bool:
        """Compare types with the order of their members, which decides what pydantic reads."""
        if not isinstance(other, PythonType):
            return NotImplemented
        return self.style == other.style and _is_same(self.type, other.type)

    def __copy__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """All fields; a type that pickle does not support is refused."""
        check_pickled(self.type, "the type")
        return vars(self)

    def __hash__(self) -> int:
        """Hash of the outermost types: types nested in themselves may take exponential time.

        Unhashable types are hashed by identity.
        """
        parts = (self.type, *get_args(self.type))
        try:
            return hash(tuple(get_origin(part) or part for part in parts))
        except TypeError:
            return id(self.type)


def _is_same(one: object, other: object) -> bool:
    """Return True if two types and all their arguments are equal, in order.

    >>> Union[int, bool] == Union[bool, int], _is_same(Union[int, bool], Union[bool, int])
    (True, False)
    """
    if one is other:
        return True
    equal = type(one) is type(other) and one == other
    return equal and all(map(_is_same, get_args(one), get_args(other)))


def _operands(item: Source, kind: type[Sequence] | type[Either] | type[Both]) -> tuple[Source, ...]:
    """Parts that `item` combines in this way already, so a | b | c is one node."""
    return item.parts if isinstance(item, kind) else (item,)


@overload
def source(value: "Written[Read]") -> "Source[Read]": ...
@overload
def source(
    value: "TypeForm[Read]",
    *,
    key_order: KeyOrder | None = None,
    whitespace: WhitespaceName | Whitespace | None = None,
    spelling: Spelling | None = None,
) -> "Source[Read]": ...
@overload
def source(
    value: object,
    *,
    key_order: KeyOrder | None = None,
    whitespace: WhitespaceName | Whitespace | None = None,
    spelling: Spelling | None = None,
) -> Source: ...
def source(
    value: object,
    *,
    key_order: KeyOrder | None = None,
    whitespace: WhitespaceName | Whitespace | None = None,
    spelling: Spelling | None = None,
) -> Source:
    """Return the source of a value: a source, a string as that literal, or a Python type.

    >>> source("yes")
    Literal(text='yes')
    >>> source(list[int], whitespace="compact").whitespace
    'compact'

    Args:
        value: a source, a string, a compiled pattern of `re`, or a Python type.
        key_order: of a type: "any", or "declared", as of `JsonSchema`.
        whitespace: of a type: "any", "compact", "natural", or a `Whitespace`.
        spelling: of a type: "any", or "plain".

    Raises:
        SourceError: the value is none of these, or an option is given for no type.
    """
    style: Style = key_order, whitespace, spelling
    if isinstance(value, re.Pattern):
        value = _regex(cast("re.Pattern[Any]", value))
    if isinstance(value, Source | str):
        if style != (None, None, None):
            raise SourceError(
                "key_order, whitespace and spelling are options of Python types, not of "
                f"{brief(cast('object', value))}; for a schema write them in JsonSchema(...)"
            )
        if isinstance(value, str):
            check_literal(value)
            return Literal(value)
        return cast("Source", value)
    if get_origin(value) is Union and any(isinstance(a, Source) for a in get_args(value)):
        parts: tuple[object, ...] = get_args(value)
        return Either(
            tuple(
                cast("Source", part) if isinstance(part, Source) else PythonType(part, *style)
                for part in parts
            )
        )
    if meant := instead(value):
        raise SourceError(f"{brief(value)} is not a source: {meant}")
    return PythonType(value, *style)


def _regex(compiled: re.Pattern[Any]) -> Regex:
    flags = "".join(letter for letter, flag in _FLAGS.items() if compiled.flags & flag)
    return Regex(cast("str", compiled.pattern), flags=flags)  # which refuses bytes


def repeat(item: object, low: int = 0, high: int | None = None) -> Repetition:
    """Return `low` to `high` texts of `item`, one after the other.

    >>> repeat(Regex("[a-z]"), 1, 3).high
    3

    Raises:
        SourceError: a bound is no count, or `low` is above `high`.
    """
    given = f"{brief(low)}, {brief(high)}"
    for bound in (low,) if high is None else (low, high):
        if not isinstance(bound, int) or isinstance(bound, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"repeat({given}): the bounds must be whole numbers")
    if low < 0 or (high is not None and high < low):
        raise SourceError(f"repeat({given}): the bounds must be 0 or more, the lower one first")
    return Repetition(source(item), low, high)


def check_text(value: object, what: str) -> None:
    """Refuse other types than str, and lone surrogates, which no text contains."""
    if not isinstance(value, str):
        raise SourceError(f"{what} must be a str, not {brief(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SourceError(
            f"{what} contains a lone surrogate, which is not a character",
            place=f"character {error.start}",
        ) from None


def check_flag(name: str, value: object) -> None:
    """Refuse other values than True and False, such as "no"."""
    if not isinstance(value, bool):
        raise SourceError(f"{name} is {brief(value)}: it must be True or False")


def check_count(name: str, value: object, low: int, high: int | None = None) -> None:
    """Refuse other values than whole numbers from `low` to `high`."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else low - 1
    if number < low or (high is not None and number > high):
        most = "" if high is None else f" to {high}"
        raise SourceError(f"{name} is {brief(value)}: it must be a whole number from {low}{most}")


def check_option(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(map(repr, allowed))
        near = did_you_mean(value, allowed)
        raise SourceError(f"{name} is {brief(value)}: it must be one of {listed}{near}")


def check_style(key_order: object, whitespace: object, spelling: object) -> None:
    check_option("key_order", key_order, get_args(KeyOrder))
    if not isinstance(whitespace, Whitespace):
        check_option("whitespace", whitespace, get_args(WhitespaceName))
    check_option("spelling", spelling, get_args(Spelling))
