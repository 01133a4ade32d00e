r"""Escapes in the two dialects: \n \x41 \N{EM DASH} \d \A \1.

python: those of the `re` module of Python 3.11 to 3.13, and \p{…}, \P{…} with general categories.
ecma: ECMA-262 §22.2.1 with the u flag, the identity escapes of Annex B except letters and digits
(schemas use `\-` and `\_`), and \A, \z, \Z, \x{41}, \pL of RE2 and Python.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import TypeAlias, final

from guideway.syntax.names import did_you_mean
from guideway.syntax.regex_tree import Anchor, Back, Boundary, Mode, Shorthand
from guideway.syntax.source import Cursor


@final
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
_DIGITS, _NUMERALS, _OCTAL_DIGITS = (
    frozenset("0123456789"),
    frozenset("123456789"),
    frozenset("01234567"),
)
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
