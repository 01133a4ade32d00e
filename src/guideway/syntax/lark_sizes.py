"""Limits of size that are checked on the text, before Lark reads it.

Lark parses nesting recursively and copies terminals into the terminals that name them; both can
take minutes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from guideway.errors import LimitError, SourceError
from guideway.syntax.lark_errors import Reading
from guideway.syntax.lark_extensions import COMMENT, REGEX, STRING
from guideway.syntax.source import describe_place

DEEPEST: Final = 400
"""Nesting of parentheses, and of terminals in terminals.

Lark reads 480 parentheses, fewer from a deep call stack. It takes 9 s for 2,000 nested terminals,
then fails.
"""

MOST_COPIED: Final = 1 << 15
"""Words copied into terminals that name others, in all; Lark takes 10 s for them."""

MOST_BLANK: Final = 8_000
"""Blank lines in a row; Lark takes 0.3 s for so many, and 74 s for 200,000."""

_PAID: Final = 14  # budget units per word, by Lark's time
_COPIED: Final = 40  # and per copied word
_WORD: Final = re.compile(
    rf"""{COMMENT}|(?P<word>{STRING}|{REGEX}|\w+)|(?P<unclosed>"|/(?!/))"""
    r"""|(?P<open>[(\[])|(?P<close>[)\]])|\n[ \t]*(?=[\w%?!])"""
)
_GROUP: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)
_CHANGED: Final = frozenset({"extend", "override"})  # keywords before a defined name


def check_size(text: str, spend: Callable[[int], None]) -> None:
    """Refuse deep nesting, long runs of blank lines and unclosed strings and regexes."""
    _check_blank(text)
    depth = 0
    for found in _WORD.finditer(text):
        match found.lastgroup:
            case "word":
                spend(_PAID)
                if found[0][0] == "/":
                    _check_groups(found)
            case "unclosed":
                # Lark would take 1.6^n steps for n backslashes after it.
                what = "string" if found[0] == '"' else "regex"
                raise SourceError(
                    f"this {what} is never closed",
                    place=describe_place(text, found.start()),
                    text=text,
                    position=found.start(),
                )
            case "open":
                depth += 1
                if depth > DEEPEST:
                    raise _too_deep(text, found.start())
            case "close":
                depth -= 1
            case _:
                depth = 0 if found[0].startswith("\n") else depth  # a definition begins


def _check_blank(text: str) -> None:
    """Refuse long runs of blank lines; Lark backtracks over each line end in them."""
    blank = 0
    for number, line in enumerate(text.split("\n"), 1):
        blank = 0 if line.strip() else blank + 1
        if blank > MOST_BLANK:
            raise LimitError(
                f"more than {MOST_BLANK} blank lines in a row",
                limit="blank lines",
                given=MOST_BLANK,
                place=f"line {number}",
            )


def _check_groups(regex: re.Match[str]) -> None:
    """Refuse a regex with groups nested too deeply for `re`."""
    depth = 0
    for found in _GROUP.finditer(regex[0]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth > DEEPEST:
            raise _too_deep(regex.string, regex.start() + found.start())


def _too_deep(text: str, position: int) -> LimitError:
    return LimitError(
        f"parentheses nest more than {DEEPEST} levels deep",
        limit="nesting",
        given=DEEPEST,
        place=describe_place(text, position),
        text=text,
        position=position,
    )


def check_terminals(reading: Reading, spend: Callable[[int], None]) -> None:
    """Refuse terminals that grow too large or nest too deeply when Lark expands them."""
    terminals = _terminals(each.text for each in reading.texts.values())
    sizes = _sizes(terminals)
    copied = sum(sizes[name] - len(words) for name, words in terminals.items())
    if copied > MOST_COPIED:
        name = max(sizes, key=sizes.__getitem__)
        raise reading.exceeded(
            f"terminals that name others come to more than {MOST_COPIED} strings and regexes, as "
            f"each is worked in wherever it is named: {name:.60} alone to {sizes[name]}",
            name,
            limit="parts of terminals",
            given=MOST_COPIED,
            needed=copied,
        )
    spend(_COPIED * copied)
    levels = dict[str, int]()
    for name in sizes:  # named terminals come before those that name them
        levels[name] = 1 + max((levels.get(word, 0) for word in terminals[name]), default=0)
    deepest = max(levels.values(), default=0)
    if deepest > DEEPEST:
        name = max(levels, key=levels.__getitem__)
        raise reading.exceeded(
            f"terminals name one another in {deepest} levels, {DEEPEST} are allowed",
            name,
            limit="nesting",
            given=DEEPEST,
            needed=deepest,
        )


def _terminals(texts: Iterable[str]) -> dict[str, list[str]]:
    """Words in the definitions of each terminal, over all texts."""
    found = dict[str, list[str]]()
    for text in texts:
        words = list[str]()
        begun = True
        for each in _WORD.finditer(text):
            if each.lastgroup is None and each[0].startswith("\n"):
                begun = True
            elif each.lastgroup == "word" and begun:
                begun = each[0] in _CHANGED
                words = found.setdefault(each[0], []) if each[0].isupper() else []
            elif each.lastgroup == "word":
                words.append(each[0])
    return found


def _sizes(terminals: Mapping[str, list[str]]) -> dict[str, int]:
    """Expanded size of each terminal; Lark refuses recursion later."""
    found, opened = dict[str, int](), set[str]()
    for each in terminals:
        todo = [each]
        while todo:
            name = todo[-1]
            if name in found:
                todo.pop()
                continue
            missing = [word for word in terminals[name] if word in terminals and word not in found]
            if missing and name not in opened:
                opened.add(name)
                todo += missing
                continue
            todo.pop()
            found[name] = min(sum(found.get(word, 1) for word in terminals[name]), 1 << 62)
    return found
