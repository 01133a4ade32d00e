r"""Patterns of types for JSON Schema: those of `re`, and those of Rust translated to ECMA-262.

pydantic searches with Rust's regex crate, or with `re` (`regex_engine`, or a compiled pattern).
JSON Schema here reads a pattern with leading flags as Python's, so a pattern of `re` gets its flags
in front, or u: `(?u)^a$`. Rust differs from ECMA-262 and `re`:

    written          Rust                              printed
    \d               Nd                                \p{Nd}
    \w               Alphabetic, M, Nd, Pc             [\p{L}\p{M}…]
    .                all but \n                        [^\n]
    $                end of the text                   $
    (?i)s            simple case folding               [sS\u{17f}]
    \b               between \w and the others         (?<=…)(?!…)|(?<!…)(?=…)

Rust may have newer Unicode tables than Python. So negated classes exclude code points unassigned in
Python, and those whose category changed since Unicode 14: pydantic accepts every text allowed here.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from guideway.errors import GuidewayError, UnsupportedError
from guideway.language.utf8 import difference
from guideway.python_types.place import Place
from guideway.regex.parser import POSIX, leading_flags, parse_regex, parse_search
from guideway.regex.tree import (
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
    Range,
    Repeat,
    Sequence,
    Shorthand,
    Text,
)
from guideway.regex.unicode import folded_alike, members

Engine: TypeAlias = Literal["rust", "python"]
Item: TypeAlias = int | Range | Shorthand

_RUST_SPACE = r"\t-\r \u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}"
_SETS = {
    "digit": r"\p{Nd}",
    "space": _RUST_SPACE,
    # Word characters of UTS #18. Circled and squared letters are alphabetic, but not L, Nl or M.
    "word": (
        r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u{200c}\u{200d}\u{24b6}-\u{24e9}"
        r"\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}"
    ),
}
# Code points that no version of Unicode assigns.
_NEVER = r"\u{fdd0}-\u{fdef}" + "".join(
    f"\\u{{{plane:x}fffe}}\\u{{{plane:x}ffff}}" for plane in range(17)
)
_UNASSIGNED = {"Cn": _NEVER, "C": r"\p{Cc}\p{Cf}\p{Co}" + _NEVER}
# Moved from Mn to Mc, and from Ll to Lo, in Unicode 15 to 17; they stay in M and L.
_MOVED = {
    **dict.fromkeys(("Mn", "Mc"), r"\u{1171e}"),
    **dict.fromkeys(("Ll", "Lo", "LC"), r"\u{295}"),
}
_SIGNS: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_ONE_PROPERTY = re.compile(r"\\p\{\w+\}")
_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}

_POSIX = {
    name: "".join(
        f"\\x{ord(low):02x}" + (f"-\\x{ord(high):02x}" if low != high else "")
        for low, high in zip(ends[::2], ends[1::2], strict=True)
    )
    for name, ends in POSIX.items()
}
_OF_RUST: Final = re.compile(  # what `re` spells differently, and all other escapes
    r"(?P<boundary>\\[<>]|\\b\{)|\\(?P<anchor>[Az])|\\[xuU]\{(?P<code>[0-9A-Fa-f]+)\}"
    r"|\\(?P<sign>[pP])(?P<letter>\w)|\\.|\(\?<(?P<name>\w+)>|\{(?P<count>[\s0-9,]*)\}",
    re.DOTALL,
)
_IN_CLASS: Final = re.compile(
    r"\[:(?P<posix>\^?\w+):\]|(?P<nested>\[|&&|--|~~)"
    r"|\\[xuU]\{(?P<code>[0-9A-Fa-f]+)\}|\\(?P<sign>[pP])(?P<letter>\w)|\\.",
    re.DOTALL,
)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)

_NO_UPPER = (  # nor uppercase roman numerals, circled and squared letters
    r"[^\p{Lu}\p{Lt}\u2160-\u216f\u24b6-\u24cf"
    r"\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]*"
)
_NO_LOWER = r"[^\p{Ll}\p{Lt}\p{Lm}\p{M}\u{aa}\u{ba}\u2170-\u217f\u24d0-\u24e9]*"
SHAPES: Final = {
    "isascii": r"^[\x00-\x7f]*$",
    "isalpha": r"^\p{L}+$",
    "isalnum": r"^[\p{L}\p{N}]+$",
    **dict.fromkeys(("isdigit", "isdecimal"), r"^\p{Nd}+$"),
    "islower": rf"^{_NO_UPPER}\p{{Ll}}{_NO_UPPER}$",
    "isupper": rf"^{_NO_LOWER}\p{{Lu}}{_NO_LOWER}$",
}
"""Strings for which a method of `str` is true; not all for `isdigit`, `islower`, `isupper`."""


TRIMMED: Final = rf"^(?:[^{_RUST_SPACE}](?:[\s\S]*[^{_RUST_SPACE}])?)?$"
"""Texts that Rust's `trim` does not change."""


def unchanged(case: str) -> str:
    """Pattern of texts that Rust's "to_lower" or "to_upper" leaves alone."""
    return f"^{_NO_UPPER if case == 'to_lower' else _NO_LOWER}$".replace("]", r"\p{Cn}]", 1)


def translate(pattern: str | re.Pattern[str], engine: Engine, at: Place) -> str:
    r"""Translate a pattern for JSON Schema, or refuse it.

    >>> translate(r"^\d{3}$", "rust", Place("zip"))
    '^\\p{Nd}{3}$'
    >>> translate(r"^\d{3}$", "python", Place("zip"))
    '(?u)^\\d{3}$'
    """
    try:
        if isinstance(pattern, re.Pattern):
            flags = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
            return _flagged(pattern.pattern, flags)
        return (
            _flagged(pattern, "")
            if engine == "python"
            else _print(parse_regex(_respelled(pattern)).body)
        )
    except GuidewayError as error:
        message = str(error).partition("\n")[0]
        feature = getattr(error, "feature", "") or "pattern"
        why = f"cannot be enforced: {message}"
        text = getattr(pattern, "pattern", pattern)
        raise at.refuse(f"the pattern {text!r}", why, feature) from None


def _flagged(pattern: str, flags: str) -> str:
    """Pattern of `re` with its flags in front, or u."""
    own = leading_flags(pattern)
    letters = dict.fromkeys(flags + re.sub(r"\W", "", own))
    told = f"(?{''.join(letters) or 'u'}){pattern.removeprefix(own)}"
    parse_search(told)
    return told


def _unsupported(feature: str) -> UnsupportedError:
    return UnsupportedError(f"{feature} is not supported", feature=feature)


def _respelled(pattern: str) -> str:
    """Spell a Rust pattern as in `re`."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        found = _CLASS.match(pattern, at)
        if found:
            opened = re.match(r"\[\^?\]?", found[0])
            begun = opened[0] if opened else ""
            parts.append(begun + _IN_CLASS.sub(_in_class, found[0][len(begun) : -1]) + "]")
        else:
            found = _OF_RUST.match(pattern, at)
            parts.append(_outside(found) if found else pattern[at])
        at = found.end() if found else at + 1
    return "".join(parts)


def _outside(found: re.Match[str]) -> str:
    if found["boundary"]:
        raise _unsupported("a word boundary")
    if found["anchor"]:
        return r"\A" if found["anchor"] == "A" else r"\Z"
    if found["name"]:
        return f"(?P<{found['name']}>"
    if found["count"] is not None:
        return re.sub(r"\s", "", found[0])
    return _escape(found)


def _in_class(found: re.Match[str]) -> str:
    if found["posix"] in _POSIX:
        return _POSIX[found["posix"]]
    if found["posix"] or found["nested"]:
        raise _unsupported("a class inside a class")
    return _escape(found)


def _escape(found: re.Match[str]) -> str:
    if found["code"]:
        return f"\\U{int(found['code'], 16):08x}"
    return f"\\{found['sign']}{{{found['letter']}}}" if found["sign"] else found[0]


def _print(node: Node) -> str:  # noqa: C901, PLR0911  an arm for each node
    match node:
        case Sequence(items):
            return "".join(map(_print, items))
        case Alternation(options):
            return "|".join(map(_print, options))
        case Group(item):
            return f"(?:{_print(item)})"
        case Repeat(item, low, high):
            return f"{_print(item)}{_count(low, high)}"
        case Anchor(kind):
            return _ANCHORS[kind]
        case Boundary(negated):
            return _print_boundary(negated)
        case Text(text, mode):
            return "".join(_print_character(ord(char), mode) for char in text)
        case Dot(mode):
            return r"[\s\S]" if mode.dot_all else r"[^\n]"
        case Shorthand():
            return _print_class((node,), False, node.mode)
        case Class(items, negated, mode):
            return _print_class(items, negated, mode)
        case Look() | Back():  # not in Rust
            raise _unsupported(type(node).__name__)


_ANCHORS: Final[dict[str, str]] = {
    "text start": "^",
    "text end": "$",
    "last line end": "$",  # in `re` only
    "line start": r"(?<![^\n])",
    "line end": r"(?![^\n])",
}


def _count(low: int, high: int | None) -> str:
    sign = _SIGNS.get((low, high))
    if sign is not None:
        return sign
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _print_boundary(negated: bool) -> str:
    """Word boundary; code points unassigned in Python are on neither side."""
    word, perhaps = f"[{_SETS['word']}]", f"[{_SETS['word']}\\p{{Cn}}]"
    if negated:
        return f"(?:(?<={word})(?={word})|(?<!{perhaps})(?!{perhaps}))"
    return f"(?:(?<={word})(?!{perhaps})|(?<!{perhaps})(?={word}))"


def _print_character(code: int, mode: Mode) -> str:
    if mode.ignore_case and len(_alike(code)) > 1:
        return f"[{''.join(map(_character, _alike(code)))}]"
    return _character(code)


def _print_class(items: tuple[Item, ...], negated: bool, mode: Mode) -> str:
    if mode.ignore_case:
        items = _folded(items)
    if negated:
        return _print_others(items, mode)
    apart = [item for item in items if _is_negated(item) or _moved(item)]
    inside = [_item(item, True) for item in items if item not in apart]
    if len(items) == 1 and _ONE_PROPERTY.fullmatch("".join(inside)):
        return inside[0]
    options = [f"[{''.join(inside)}]"] if inside else []
    options += [_print_apart(item) for item in apart]
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _print_apart(item: Item) -> str:
    part = _item(item, False)
    left_out = part + r"\p{Cn}" if _is_negated(item) else part.replace("p", "P", 1)
    return f"[^{left_out}{_moved(item)}]"


def _print_others(items: tuple[Item, ...], mode: Mode) -> str:
    match items:
        case (Shorthand(negated=True) as item,):
            return _print_class((replace(item, negated=False),), False, mode)
        case _ if any(map(_is_negated, items)):
            raise _unsupported("the opposite of a class that holds \\D, \\S or \\W")
        case _:
            pass
    inside = "".join(_item(item, False) for item in items)
    named = mode.ignore_case or any(isinstance(item, Shorthand) for item in items)
    left_out = "".join(map(_moved, items))
    unknown = r"\p{Cn}" if named else ""
    return f"[^{inside}{unknown}{left_out}]"


def _moved(item: Item) -> str:
    """Characters that are in a category only in some versions of Unicode."""
    return _MOVED.get(item.name, "") if isinstance(item, Shorthand) else ""


def _is_negated(item: Item) -> bool:
    return isinstance(item, Shorthand) and item.negated


def _item(item: Item, meant: bool) -> str:
    match item:
        case Range(low, high):
            return f"{_character(low)}-{_character(high)}"
        case Shorthand(name) if meant and name in _UNASSIGNED:
            return _UNASSIGNED[name]
        case Shorthand(name):
            return _SETS.get(name, f"\\p{{{name}}}")
        case _:
            return _character(item)


def _character(code: int) -> str:
    character = chr(code)
    if (character.isascii() and character.isalnum()) or character in " _":
        return character
    if character.isascii() and character.isprintable():
        return f"\\{character}"
    return f"\\u{{{code:x}}}"


def _folded(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Items of a class with their case variants."""
    more: list[int] = []
    for item in items:
        if isinstance(item, Shorthand):
            if item.name not in _SETS:
                raise _unsupported("a property under flag i")
            continue
        span = (item.low, item.high) if isinstance(item, Range) else (item, item)
        more += members(difference(folded_alike((span,)), (span,)))
    return (*items, *dict.fromkeys(more))


@lru_cache(maxsize=1024)
def _alike(code: int) -> tuple[int, ...]:
    """Characters equal under simple case folding."""
    return tuple(members(folded_alike(((code, code),))))
