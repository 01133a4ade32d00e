"""Flags of regular expressions, given beside a pattern or inside it.

    i  ignore case        m  ^ and $ at every line      s  the dot matches newlines
    x  blanks and comments do not count                 a, u  shorthands and case are ASCII, Unicode

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
_SWITCHES = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "x": "verbose"}
EXCLUSIVE = "flags a and u exclude each other"
_LOCALE = "flag L depends on the locale of the process, and Python has it for bytes only"


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
        if flag == "L" or (dialect == "ecma" and flag in "imvygd"):
            raise UnsupportedError(
                _LOCALE
                if flag == "L"
                else f"flag {flag} is not supported for JSON Schema's patterns",
                feature=f"flag {flag}",
            )
        if flag not in ("aimsux" if dialect == "python" else "su"):
            raise SourceError(f"{flag!r} is no flag; the flags of Python are a, i, m, s, u, x")
        mode = _switch(mode, flag, on=True)
    if "a" in flags and "u" in flags:
        raise SourceError(EXCLUSIVE)
    return mode


def read_flags(cursor: Cursor, mode: Mode, at: int) -> Change:
    """The flags whose `(?` the cursor has just passed, up to their colon or parenthesis.

    Raises:
        SourceError: there is no such flag or extension, or flags contradict one another.
        UnsupportedError: flag L; flags inside a pattern of the ecma dialect.
    """
    on = cursor.run(_LETTERS)
    turns_off = cursor.match("-")
    off = cursor.run(_LETTERS) if turns_off else ""
    end = cursor.take()
    _check(cursor, on, off, at)
    if end not in (":", ")") or (turns_off and (not off or end == ")")) or not (on or off):
        raise cursor.error(
            "(? begins no extension that is known; (?i), (?i-s:…), (?:…), (?P<name>…) are", at
        )
    if mode.dialect == "ecma":
        raise cursor.unsupported(
            "flags inside a pattern are not supported in JSON Schema's patterns", "inline flags", at
        )
    for flag in on:
        mode = _switch(mode, flag, on=True)
    for flag in off:
        mode = _switch(mode, flag, on=False)
    return Change(mode, end == ":", on)


def _check(cursor: Cursor, on: str, off: str, at: int) -> None:
    if "L" in on + off:
        raise cursor.unsupported(_LOCALE, "flag L", at)
    unknown = [flag for flag in on + off if flag not in "aimsux"]
    if unknown:
        raise cursor.error(
            f"(?{unknown[0]} is no flag or extension; the flags are a, i, m, s, u, x", at
        )
    if "a" in on and "u" in on:
        raise cursor.error(EXCLUSIVE, at)
    if "a" in off or "u" in off:
        raise cursor.error("flags a and u are turned off by turning the other on", at)
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
