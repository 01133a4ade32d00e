"""Flags of regular expressions, given beside a pattern or inside it.

    i  ignore case        m  ^ and $ at every line      s  the dot matches newlines
    x  blanks and comments do not count                 a, u  shorthands and case are ASCII, Unicode

In ecma, i, m and s apply to a part of a pattern, (?i:…), as in ECMA-262 since 2025; flags after the
beginning, a(?i)b, apply to the rest of their group, as in RE2, Rust, PCRE and Java.
"""

import re
from dataclasses import dataclass, replace
from typing import final

from guideway.errors import SourceError, UnsupportedError
from guideway.syntax.regex_tree import Mode
from guideway.syntax.source import Cursor
from guideway.syntax.sources import DIALECTS, Dialect, check_option

_LETTERS = re.compile("[A-Za-z]*")
_FLAGS: dict[Dialect, str] = {"python": "aimsux", "ecma": "isu"}
_NAMED: dict[Dialect, str] = {
    "python": "Python are a, i, m, s, u, x",
    "ecma": "JSON Schema's patterns are i, s, u",
}
_SWITCHES = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "x": "verbose"}
EXCLUSIVE = "flags a and u exclude each other"
_LINES = (
    "flag m has different lines in different engines: write (?m) at the start for Python's lines"
)
_LOCALE = "flag L is not supported: it depends on the locale, and Python allows it for bytes only"


@final
@dataclass(frozen=True, slots=True)
class Change:
    """Effect of flags inside a pattern.

    Attributes:
        mode: the mode from there on.
        scoped: they apply to one group, (?i:…), not to the whole pattern, (?i).
        letters: the flags that are turned on.
    """

    mode: Mode
    scoped: bool
    letters: str


def start_mode(dialect: Dialect, flags: str) -> Mode:
    """The mode at the beginning of a pattern; unknown dialects and flags are refused."""
    check_option("dialect", dialect, DIALECTS)
    mode = Mode(dialect)
    for flag in flags:
        if flag == "L" or (dialect == "ecma" and flag in "mvygd"):
            other = f"flag {flag} is not supported for JSON Schema's patterns"
            why = {"L": _LOCALE, "m": _LINES}.get(flag, other)
            raise UnsupportedError(why, feature=f"flag {flag}")
        if flag not in _FLAGS[dialect]:
            raise SourceError(f"{flag!r} is not a flag; the flags of {_NAMED[dialect]}")
        mode = _switch(mode, flag, on=True)
    if "a" in flags and "u" in flags:
        raise SourceError(EXCLUSIVE)
    return mode


def read_flags(cursor: Cursor, mode: Mode, at: int) -> Change:
    """Read the flags after `(?`, up to their colon or parenthesis."""
    on = cursor.run(_LETTERS)
    turns_off = cursor.match("-")
    off = cursor.run(_LETTERS) if turns_off else ""
    end = cursor.take()
    _check(cursor, mode, on + off, at)
    _check_both(cursor, on, off, at)
    behind = end == ")" and mode.dialect == "python"  # there Python turns nothing off
    if end not in (":", ")") or (turns_off and (not off or behind)) or not (on or off):
        raise cursor.error(
            "unknown extension after (?; known are (?i), (?i-s:…), (?:…), (?P<name>…)", at
        )
    for flag in on + off:
        mode = _switch(mode, flag, on=flag in on)
    return Change(mode, end == ":", on)


def _check(cursor: Cursor, mode: Mode, letters: str, at: int) -> None:
    ecma = mode.dialect == "ecma"
    if "L" in letters:
        raise cursor.unsupported(_LOCALE, "flag L", at)
    if ecma and "m" in letters:
        raise cursor.unsupported(_LINES, "flag m", at)
    allowed = "is" if ecma else _FLAGS["python"]
    unknown = [flag for flag in letters if flag not in allowed]
    if unknown:
        listed = "i, s" if ecma else "a, i, m, s, u, x"
        raise cursor.error(f"(?{unknown[0]} is not a flag or extension; the flags are {listed}", at)


def _check_both(cursor: Cursor, on: str, off: str, at: int) -> None:
    if "a" in on and "u" in on:
        raise cursor.error(EXCLUSIVE, at)
    if "a" in off or "u" in off:
        raise cursor.error("flags a and u cannot be turned off; turn the other one on", at)
    both = [flag for flag in off if flag in on]
    if both:
        raise cursor.error(f"flag {both[0]} is turned both on and off", at)


def _switch(mode: Mode, flag: str, on: bool) -> Mode:
    if flag in "au":
        return replace(mode, ascii=flag == "a")
    return replace(mode, **{_SWITCHES[flag]: on})
