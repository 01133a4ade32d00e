"""Flags of regular expressions, given beside a pattern or inside it.

    i  ignore case        m  ^ and $ at every line      s  the dot matches newlines
    x  blanks and comments do not count                 a, u  shorthands and case are ASCII, Unicode

The ecma dialect has i, m and s for a part of a pattern, (?i:…), as ECMA-262 has since 2025; flags
behind the beginning, a(?i)b, hold to the end of their group there, as in RE2, Rust, PCRE and Java.
Which flag holds where is the parser's affair.
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
    """What flags inside a pattern do.

    Attributes:
        mode: the mode from there on.
        scoped: whether they hold for one group, (?i:…), or for the whole pattern, (?i).
        letters: those that are turned on.
    """

    mode: Mode
    scoped: bool
    letters: str


def start_mode(dialect: Dialect, flags: str) -> Mode:
    """The mode in which a pattern begins.

    Raises:
        SourceError: no such dialect or flag.
        UnsupportedError: a flag of the dialect that is not supported.
    """
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
    """The flags whose `(?` the cursor has just passed, up to their colon or parenthesis.

    Raises:
        SourceError: there is no such flag or extension, or flags contradict one another.
        UnsupportedError: flag L; flag m in the ecma dialect.
    """
    on = cursor.run(_LETTERS)
    turns_off = cursor.match("-")
    off = cursor.run(_LETTERS) if turns_off else ""
    end = cursor.take()
    _check(cursor, mode, on + off, at)
    _check_both(cursor, on, off, at)
    behind = end == ")" and mode.dialect == "python"  # where Python turns nothing off
    if end not in (":", ")") or (turns_off and (not off or behind)) or not (on or off):
        raise cursor.error(
            "unknown extension after (?; known are (?i), (?i-s:…), (?:…), (?P<name>…)", at
        )
    for flag in on:
        mode = _switch(mode, flag, on=True)
    for flag in off:
        mode = _switch(mode, flag, on=False)
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
    match flag:
        case "i":
            return replace(mode, ignore_case=on)
        case "m":
            return replace(mode, multiline=on)
        case "s":
            return replace(mode, dot_all=on)
        case _:
            return replace(mode, verbose=on)
