"""Parser of regular expressions, in two dialects."""

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, TypeAlias

from guideway.errors import GuidewayError, SourceError, brief
from guideway.regex.tree import (
    EXCLUSIVE,
    Alternation,
    Anchor,
    Back,
    Boundary,
    Class,
    Dot,
    Group,
    Look,
    Mode,
    Node,
    Pattern,
    Range,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    read_flags,
    start_mode,
)
from guideway.sources.names import did_you_mean
from guideway.sources.reading import Cursor
from guideway.sources.sources import Dialect


@dataclass(frozen=True, slots=True)
class Name:
    """A reference back to a group by its name."""

    name: str


Escape: TypeAlias = int | Shorthand | Anchor | Boundary | Back | Name

_CONTROLS = {"b": 0x08, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SHORTHANDS = (
    dict.fromkeys("dD", "digit") | dict.fromkeys("sS", "space") | dict.fromkeys("wW", "word")
)
_HEX_DIGITS = {"u": 4, "U": 8}
_DIGITS = frozenset("0123456789")
_NUMERALS = frozenset("123456789")
_OCTAL_DIGITS = frozenset("01234567")
_PROPERTY_LETTERS = frozenset("pP")
_HEX = re.compile("[0-9a-fA-F]*")
_BRACED_HEX = re.compile(r"\{([0-9a-fA-F]+)\}")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_OCTAL = re.compile("[0-7]{1,3}")
_THREE_OCTAL = re.compile("[0-7]{3}")
_ONE_OR_TWO_DIGITS = re.compile("[0-9]{1,2}")
_NAMED_REFERENCE = re.compile(r"k<([^>]*)>")
_BRACED_NAME = re.compile(r"\{([^}]*)\}")
_ONE_LETTER = re.compile("([CLMNPSZ])")

# Unicode's general categories: property value aliases of UAX #44, §5.7.1.
_CATEGORIES = """
    L Letter; LC Cased_Letter; Lu Uppercase_Letter; Ll Lowercase_Letter; Lt Titlecase_Letter;
    Lm Modifier_Letter; Lo Other_Letter; M Mark Combining_Mark; Mn Nonspacing_Mark;
    Mc Spacing_Mark; Me Enclosing_Mark; N Number; Nd Decimal_Number digit; Nl Letter_Number;
    No Other_Number; P Punctuation punct; Pc Connector_Punctuation; Pd Dash_Punctuation;
    Ps Open_Punctuation; Pe Close_Punctuation; Pi Initial_Punctuation; Pf Final_Punctuation;
    Po Other_Punctuation; S Symbol; Sm Math_Symbol; Sc Currency_Symbol; Sk Modifier_Symbol;
    So Other_Symbol; Z Separator; Zs Space_Separator; Zl Line_Separator; Zp Paragraph_Separator;
    C Other; Cc Control cntrl; Cf Format; Cs Surrogate; Co Private_Use; Cn Unassigned
"""
PROPERTIES = {
    alias: names.split()[0] for names in _CATEGORIES.split(";") for alias in names.split()
} | {name: name for name in ("Any", "ASCII", "Assigned")}


def read_escape(cursor: Cursor, mode: Mode) -> Escape:
    """Read the escape outside of classes whose backslash was just read."""
    at, letter = cursor.position - 1, cursor.peek()
    if letter in ("b", "B"):
        cursor.position += 1
        return Boundary(letter == "B", mode, at)
    if letter in _NUMERALS:
        return _read_number(cursor, mode, at)
    if letter and letter in ("AZ" if mode.dialect == "python" else "AZz"):
        cursor.position += 1
        return Anchor("text start" if letter == "A" else "text end", at)
    named = cursor.scan(_NAMED_REFERENCE) if mode.dialect == "ecma" else None
    if named is not None:
        return Name(named[1])
    return read_class_escape(cursor, mode)


def read_class_escape(cursor: Cursor, mode: Mode) -> int | Shorthand:
    """Read the escape in a class whose backslash was just read."""
    at = cursor.position - 1
    letter = cursor.take()
    if not letter:
        raise cursor.error("a backslash at the end escapes nothing; write \\\\ for a backslash", at)
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter in _SHORTHANDS:
        return Shorthand(_SHORTHANDS[letter], letter.isupper(), mode, at)
    if letter == "x":
        braced = cursor.scan(_BRACED_HEX) if mode.dialect == "ecma" else None
        return _code_point(cursor, braced[1], at) if braced else _read_hex(cursor, 2, at)
    if mode.dialect == "python":
        return _read_python(cursor, mode, letter, at)
    return _read_ecma(cursor, mode, letter, at)


def _read_python(cursor: Cursor, mode: Mode, letter: str, at: int) -> int | Shorthand:
    if letter in _HEX_DIGITS:
        return _read_hex(cursor, _HEX_DIGITS[letter], at)
    if letter in _NAMED:
        return _NAMED[letter](cursor, mode, at)
    if letter in _OCTAL_DIGITS:
        cursor.position = at + 1
        return _octal(cursor, cursor.run(_OCTAL), at)
    return 0x07 if letter == "a" else _identity(cursor, letter, at)


def _read_ecma(cursor: Cursor, mode: Mode, letter: str, at: int) -> int | Shorthand:
    if letter == "u":
        return _read_unit(cursor, at)
    if letter in _PROPERTY_LETTERS:
        return _read_property(cursor, mode, at)
    if letter == "c":
        return _read_control(cursor, at)
    if letter == "0" and cursor.peek() not in _DIGITS:
        return 0
    return _identity(cursor, letter, at)


def _read_number(cursor: Cursor, mode: Mode, at: int) -> int | Back:
    """A number from 1 on: three octal digits are a character in Python, all else is a group."""
    octal = cursor.run(_THREE_OCTAL) if mode.dialect == "python" else ""
    if octal:
        return _octal(cursor, octal, at)
    return Back(int(cursor.run(_ONE_OR_TWO_DIGITS)), mode, at)


_HINTS = {
    "A": "; the beginning of the text is ^",
    "Z": "; the end of the text is $",
    "z": "; the end of the text is \\Z in Python, $ in JSON Schema",
    "k": "; a reference to a group by its name is \\k<name> in JSON Schema, (?P=name) in Python",
    "e": "; write \\x1b",
    "a": "; write \\x07",
    "U": "; write \\u{…}",
    "N": "; write \\u{…}",
}


def _identity(cursor: Cursor, letter: str, at: int) -> int:
    if letter.isascii() and letter.isalnum():
        hint = _HINTS.get(letter, f"; for the letter itself write {letter}")
        raise cursor.error(f"\\{letter} is not an escape here{hint}", at)
    return ord(letter)


def _read_hex(cursor: Cursor, width: int, at: int) -> int:
    digits = cursor.text[cursor.position : cursor.position + width]
    if len(digits) < width or _HEX.fullmatch(digits) is None:
        raise cursor.error(
            f"{cursor.text[at : at + 2]} needs exactly {width} hexadecimal digits", at
        )
    cursor.position += width
    return _code_point(cursor, digits, at)


def _code_point(cursor: Cursor, digits: str, at: int) -> int:
    value = int(digits.lstrip("0")[:9] or "0", 16)
    if value > 0x10FFFF:
        raise cursor.error("there is no code point beyond 10FFFF", at)
    return value


def _read_name(cursor: Cursor, mode: Mode, at: int) -> int:
    named = cursor.scan(_BRACED_NAME)
    if named is None:
        raise cursor.error("\\N needs the name of a character in braces, such as \\N{EM DASH}", at)
    try:
        return ord(unicodedata.lookup(named[1]))
    except (KeyError, TypeError, ValueError):  # unknown, a sequence of several, a lone surrogate
        raise cursor.error(f"no character has the name {named[1]!r}", at) from None


def _octal(cursor: Cursor, digits: str, at: int) -> int:
    value = int(digits, 8)
    if value > 0o377:
        raise cursor.error("an octal escape must be at most \\377", at)
    return value


def _read_unit(cursor: Cursor, at: int) -> int:
    r"""\u{1F600}, \u0041, or a pair of surrogates for one character."""
    braced = cursor.scan(_BRACED_HEX)
    if braced is not None:
        return _code_point(cursor, braced[1], at)
    unit = _read_hex(cursor, 4, at)
    if 0xD800 <= unit <= 0xDBFF:
        low = cursor.scan(_LOW_SURROGATE)
        if low is not None:
            return 0x10000 + ((unit - 0xD800) << 10) + int(low[1], 16) - 0xDC00
    return unit


def _read_control(cursor: Cursor, at: int) -> int:
    letter = cursor.take()
    if not (letter.isascii() and letter.isalpha()):
        raise cursor.error("\\c needs a letter, such as \\cJ", at)
    return ord(letter) % 32


def _read_property(cursor: Cursor, mode: Mode, at: int) -> Shorthand:
    negated = cursor.text[at + 1] == "P"
    short = _ONE_LETTER if mode.dialect == "ecma" else _BRACED_NAME
    named = cursor.scan(_BRACED_NAME) or cursor.scan(short)
    if named is None:
        raise cursor.error("\\p needs the name of a property in braces, such as \\p{Lu}", at)
    kind, equals, value = named[1].partition("=")
    if equals and kind not in ("General_Category", "gc"):
        raise cursor.unsupported(
            f"{kind} is not supported; the only supported property is the general category",
            f"\\p{{{kind}=…}}",
            at,
        )
    name = value if equals else kind
    if name not in PROPERTIES:
        raise cursor.unsupported(
            f"{name!r} is not a general category; scripts are not supported: write the ranges of "
            f"their characters, such as [\\u4e00-\\u9fff]{did_you_mean(name, PROPERTIES)}",
            f"\\p{{{name}}}",
            at,
        )
    return Shorthand(PROPERTIES[name], negated, mode, at)


_NAMED = {"N": _read_name, "p": _read_property, "P": _read_property}


_HYPHEN = ord("-")
_CLASSES_NAMED = re.compile(r"\[:(\^?)(\w+):\]")
POSIX = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az",
    "print": " ~", "punct": "!/:@[`{~",
    "space": "\t\r  ", "upper": "AZ", "word": "09AZ__az", "xdigit": "09AFaf",
}  # fmt: skip


def read_class(cursor: Cursor, mode: Mode) -> Class:
    """Read the class whose opening bracket was just read."""
    at = cursor.position - 1
    negated = cursor.match("^")
    items: list[int | Range | Shorthand] = []
    while True:
        if cursor.peek() == "]" and (items or mode.dialect == "ecma"):
            cursor.position += 1
            return Class(tuple(items), negated, mode, at)
        items += _read_items(cursor, mode, at)


def _read_items(cursor: Cursor, mode: Mode, opened: int) -> list[int | Range | Shorthand]:
    """Read a member, both ends of a range, or what only looks like a range."""
    at = cursor.position
    named = cursor.scan(_CLASSES_NAMED) if mode.dialect == "ecma" else None
    if named is not None and named[2] in POSIX:
        return _posix(cursor, named[1], named[2], at)
    cursor.position = at
    low = _read_member(cursor, mode, opened)
    if not cursor.match("-"):
        return [low]
    if cursor.peek() == "]":
        return [low, _HYPHEN]
    high = _read_member(cursor, mode, opened)
    written = cursor.text[at : cursor.position]
    if isinstance(low, Shorthand) or isinstance(high, Shorthand):
        if mode.dialect == "ecma":
            return [low, _HYPHEN, high]
        raise cursor.error(f"{written} is not a range: \\d, \\w and \\s are sets", at)
    if high < low:
        raise cursor.error(f"{written} is not a range: it ends before it begins", at)
    return [Range(low, high)]


def _posix(cursor: Cursor, negated: str, name: str, at: int) -> list[int | Range | Shorthand]:
    """Ranges of a POSIX class."""
    if negated:
        raise cursor.unsupported(
            f"[:^{name}:] within a class is not supported; write [^[:{name}:]]", "[:^…:]", at
        )
    ends = map(ord, POSIX[name])
    return [Range(low, next(ends)) for low in ends]


def _read_member(cursor: Cursor, mode: Mode, opened: int) -> int | Shorthand:
    character = cursor.take()
    if not character:
        raise cursor.error("this class is not closed: ] is missing", opened)
    return read_class_escape(cursor, mode) if character == "\\" else ord(character)


MOST_NESTED = 200
MOST_REPEATED = 2**31

_PLAIN = re.compile(r"[^\\\[{()*+?^$|.]+")
_PLAIN_VERBOSE = re.compile(r"[^\\\[{()*+?^$|.# \t\n\r\v\f]+")
_BLANK = re.compile(r"(?:[ \t\n\r\v\f]+|#(?:\\.|[^\\\n])*(?:\n|\Z))+", re.DOTALL)
_COMMENT = re.compile(r"(?:\\.|[^\\)])*\)", re.DOTALL)
_BOUNDS = {
    "python": re.compile(r"\{(?!\})([0-9]*)(,?)([0-9]*)\}"),
    "ecma": re.compile(r"\{([0-9]+)(,?)([0-9]*)\}"),
}
_NO_LOWER_BOUND = re.compile(r"\{,[0-9]+\}")
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_LOOK = re.compile("<?[=!]")
_LEADING_FLAGS = re.compile(r"(?:\(\?[A-Za-z]+\))*")
_NAME = re.compile(r"([^>]*)>")
_REFERENCE_NAME = re.compile(r"([^)]*)\)")


def parse_regex(pattern: str, dialect: Dialect = "python", flags: str = "") -> Pattern:
    r"""The tree of a pattern. Flags are letters of "aimsux" for python, of "isu" for ecma.

    >>> parse_regex("a|b").body.options[1].text
    'b'
    """
    if not isinstance(pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(
            f"a pattern must be a str, not {type(pattern).__name__}: {brief(pattern)}"
        )
    return _Parser(pattern, start_mode(dialect, flags), flags).parse()


@lru_cache(maxsize=1024)
def parse_search(pattern: str) -> Pattern:
    """The tree of a pattern of JSON Schema; with leading flags it is one of Python."""
    flags = leading_flags(pattern)
    if not flags:
        return parse_regex(pattern, "ecma")
    try:
        return parse_regex(pattern)
    except SourceError:
        letters = re.sub(r"\W", "", flags)
        with suppress(GuidewayError):  # (?i)(?<name>…) is in neither dialect, but in RE2
            return parse_regex(f"(?{letters}:{pattern.removeprefix(flags)})", "ecma")
        raise


def leading_flags(pattern: str) -> str:
    found = _LEADING_FLAGS.match(pattern)
    return "" if found is None else found[0]


@dataclass(slots=True)
class _Open:
    """An open parenthesis; the whole pattern is the first."""

    mode: Mode
    place: int
    number: int = 0
    name: str = ""
    look: str = ""
    options: list[Node] = field(default_factory=list[Node])
    items: list[Node] = field(default_factory=list[Node])
    option_place: int = 0


class _Parser:
    def __init__(self, pattern: str, mode: Mode, flags: str) -> None:
        self._cursor = Cursor(pattern)
        self._top = _Open(mode, 0)
        self._outer: list[_Open] = []
        self._flags_of_all = flags
        self._names: dict[str, int] = {}
        self._closed = [False]  # of each capturing group, by number

    def parse(self) -> Pattern:
        cursor = self._cursor
        while True:
            if self._top.mode.verbose:
                cursor.run(_BLANK)
            at = cursor.position
            text = cursor.run(_PLAIN_VERBOSE if self._top.mode.verbose else _PLAIN)
            if text:
                self._top.items.append(Text(text, self._top.mode, at))
            elif not cursor.peek():
                break
            else:
                self._actions[cursor.take()](self, at)
        if self._outer:
            raise cursor.error("this group is not closed: ) is missing", self._top.place)
        return Pattern(cursor.text, self._finish(self._top))

    def _finish(self, group: _Open) -> Node:
        """The alternation of a group; a single option or item stands for itself."""
        self._end_option(group)
        if len(group.options) == 1:
            return group.options[0]
        return Alternation(tuple(group.options), group.place)

    def _end_option(self, group: _Open) -> None:
        if len(group.items) == 1:
            group.options.append(group.items[0])
        else:
            group.options.append(Sequence(tuple(group.items), group.option_place))
        group.items = []
        group.option_place = self._cursor.position

    def _next_option(self, at: int) -> None:
        self._end_option(self._top)

    def _escape(self, at: int) -> None:
        mode = self._top.mode
        escape = read_escape(self._cursor, mode)
        if isinstance(escape, Name):
            self._back(self._number(escape.name, at), at)
        elif isinstance(escape, Back):
            self._back(escape.number, at)
        else:
            node = Text(chr(escape), mode, at) if isinstance(escape, int) else escape
            self._top.items.append(node)

    def _back(self, number: int, at: int) -> None:
        if number >= len(self._closed):
            raise self._cursor.error(f"there is no group {number} before this place", at)
        if not self._closed[number]:
            raise self._cursor.error(f"group {number} is still open here", at)
        self._top.items.append(Back(number, self._top.mode, at))

    def _number(self, name: str, at: int) -> int:
        if name not in self._names:
            raise self._cursor.error("no group before this place has that name", at)
        return self._names[name]

    def _broken_comment(self, at: int) -> None:
        """A comment of a verbose pattern that _BLANK leaves ends in a lone backslash."""
        raise self._cursor.error(
            "a backslash at the end escapes nothing", len(self._cursor.text) - 1
        )

    def _class(self, at: int) -> None:
        self._top.items.append(read_class(self._cursor, self._top.mode))

    def _dot(self, at: int) -> None:
        self._top.items.append(Dot(self._top.mode, at))

    def _start_anchor(self, at: int) -> None:
        self._top.items.append(
            Anchor("line start" if self._top.mode.multiline else "text start", at)
        )

    def _end_anchor(self, at: int) -> None:
        mode = self._top.mode
        whole = "last line end" if mode.dialect == "python" else "text end"
        self._top.items.append(Anchor("line end" if mode.multiline else whole, at))

    # counts

    def _sign(self, at: int) -> None:
        self._repeat(*_SIGNS[self._cursor.text[at]], at)

    def _bounds(self, at: int) -> None:
        """{m}, {m,}, {m,n}, in Python {,n} and {,} too; any other brace is a character."""
        cursor, mode = self._cursor, self._top.mode
        cursor.position = at
        found = cursor.scan(_BOUNDS[mode.dialect])
        if found is not None:
            low = self._count(found[1], at) or 0
            high = self._count(found[3], at) if found[2] else low
            if high is not None and high < low:
                raise cursor.error(f"{found[0]} ends before it begins", at)
            self._repeat(low, high, at)
        elif cursor.scan(_NO_LOWER_BOUND) is not None:
            raise cursor.error("engines disagree on {,n}; write {0,n} for a count", at)
        else:
            cursor.position += 1
            self._top.items.append(Text("{", mode, at))

    def _count(self, digits: str, at: int) -> int | None:
        if not digits:
            return None
        short = digits.lstrip("0") or "0"
        given = int(short[:100])  # Python reads no number of 5,000 digits
        if given <= MOST_REPEATED:
            return given
        raise self._cursor.exceeded(
            f"{short[:20]}{'…' if len(short) > 20 else ''} is more than the {MOST_REPEATED} "
            "repetitions that are allowed; leave the bound out for any number",
            "repetitions",
            given,
            at,
        )

    def _repeat(self, low: int, high: int | None, at: int) -> None:
        cursor, items = self._cursor, self._top.items
        if not items or isinstance(items[-1], _NOTHING_TO_REPEAT[self._top.mode.dialect]):
            raise cursor.error(
                "there is nothing to repeat; write \\ before it for the character itself", at
            )
        if isinstance(items[-1], Repeat):
            raise cursor.error(
                "this is repeated already; write (?:…) around it to repeat it again", at
            )
        lazy = cursor.match("?")
        if not lazy and cursor.peek() == "+":
            if self._top.mode.dialect == "ecma":
                raise cursor.error("this is repeated already", cursor.position)
            raise cursor.unsupported(
                "possessive quantifiers are not supported, because they match other texts; remove "
                "the +",
                "possessive quantifier",
                at,
            )
        item = self._last_item()
        items.append(Repeat(item, low, high, lazy, item.place))

    def _last_item(self) -> Node:
        """Remove the last item; of a run of characters, only the last one."""
        item = self._top.items.pop()
        if isinstance(item, Text) and len(item.text) > 1:
            self._top.items.append(replace(item, text=item.text[:-1]))
            return Text(item.text[-1], item.mode, item.place + len(item.text) - 1)
        return item

    # groups

    def _open(self, at: int) -> None:
        if len(self._outer) >= MOST_NESTED:
            raise self._cursor.exceeded(
                f"groups nest more than {MOST_NESTED} deep",
                "nesting of groups",
                MOST_NESTED + 1,
                at,
            )
        if self._cursor.match("?"):
            self._extension(at)
        else:
            self._enter(at, self._top.mode, captures=True)

    def _enter(
        self, at: int, mode: Mode, captures: bool = False, name: str = "", look: str = ""
    ) -> None:
        number = len(self._closed) if captures else 0
        if captures:
            self._closed.append(False)
        self._outer.append(self._top)
        self._top = _Open(mode, at, number, name, look, option_place=self._cursor.position)

    def _close(self, at: int) -> None:
        if not self._outer:
            raise self._cursor.error("this ) closes no group; write \\) for the character", at)
        group = self._top
        body = self._finish(group)
        self._top = self._outer.pop()
        look, place = group.look, group.place
        if look:
            self._top.items.append(Look(body, look in "=!", look[-1] == "!", place))
            return
        self._top.items.append(Group(body, group.number, group.name, place))
        if group.number:
            self._closed[group.number] = True

    def _extension(self, at: int) -> None:
        cursor, ecma = self._cursor, self._top.mode.dialect == "ecma"
        self._refuse_extension(at)
        look = cursor.run(_LOOK)
        if look:
            self._enter(at, self._top.mode, look=look)
        elif cursor.match(":"):
            self._enter(at, self._top.mode)
        elif cursor.match("P<") or (ecma and cursor.match("<")):
            self._enter(at, self._top.mode, captures=True, name=self._name(at))
        elif cursor.match("#"):
            if cursor.scan(_COMMENT) is None:
                raise cursor.error("this comment is not closed: ) is missing", at)
        elif cursor.match("P="):
            found = cursor.scan(_REFERENCE_NAME)
            self._back(self._number(found[1] if found else "", at), at)
        else:
            self._flags(at)

    def _refuse_extension(self, at: int) -> None:
        cursor, ecma = self._cursor, self._top.mode.dialect == "ecma"
        for sign, feature in _REFUSED.items():
            if cursor.text.startswith(sign, cursor.position) and not (ecma and sign == "("):
                raise cursor.unsupported(f"{feature}s are not supported", feature, at)

    def _name(self, at: int) -> str:
        cursor = self._cursor
        found = cursor.scan(_NAME)
        if found is None:
            raise cursor.error("the name of this group is not closed: > is missing", at)
        name = found[1]
        if not name.isidentifier():
            raise cursor.error(f"{name!r} is not a name of a group: use letters, digits and _", at)
        if name in self._names:
            raise cursor.error(f"group {self._names[name]} has the name {name!r} already", at)
        self._names[name] = len(self._closed)
        return name

    def _flags(self, at: int) -> None:
        """(?i-s:…) for a group, (?i) at the beginning for the whole pattern, in ecma after it."""
        cursor, top = self._cursor, self._top
        change = read_flags(cursor, top.mode, at)
        if change.scoped:
            self._enter(at, change.mode)
            return
        begins = not (self._outer or top.options or top.items)
        if top.mode.dialect == "ecma":
            if begins:
                raise cursor.unsupported(
                    "inline flags at the beginning are Python's: write flags=", "inline flags", at
                )
            top.mode = change.mode
            return
        if not begins:
            raise cursor.error("flags for the whole pattern must be at its beginning", at)
        self._flags_of_all += change.letters
        if "a" in self._flags_of_all and "u" in self._flags_of_all:
            raise cursor.error(EXCLUSIVE, at)
        top.mode = change.mode

    _actions: "ClassVar[dict[str, Callable[[_Parser, int], None]]]" = {
        "\\": _escape,
        "[": _class,
        "(": _open,
        ")": _close,
        "|": _next_option,
        "^": _start_anchor,
        "$": _end_anchor,
        ".": _dot,
        "{": _bounds,
        "#": _broken_comment,
    } | dict.fromkeys("*+?", _sign)


# ECMA-262 counts lookaround in Annex B only, and not with its u flag.
_NOTHING_TO_REPEAT = {"python": (Anchor, Boundary), "ecma": (Anchor, Boundary, Look)}
_REFUSED = {">": "atomic group", "(": "conditional group"}
