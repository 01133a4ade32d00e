"""How large a Lark grammar is, told from its text before Lark reads it.

Lark reads what nests by calls within calls, and works in what a terminal is made of wherever it is
named: both may take it minutes.

What this module does not know: whether the text is a grammar.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from guideway.errors import LimitError, SourceError
from guideway.syntax.lark_errors import Reading
from guideway.syntax.lark_extensions import COMMENT, REGEX, STRING
from guideway.syntax.source import describe_place

DEEPEST: Final = 400
"""Parentheses within parentheses; Lark reads 480, and less where its caller is deep in others.

So it is of terminals that name one another, of which it reads 2,000 for 9 s before it gives up.
"""

MOST_COPIED: Final = 1 << 15
"""What is worked in where terminals name others, all together; Lark takes 10 s for it."""

MOST_BLANK: Final = 8_000
"""Blank lines in a row; Lark takes .3 s for so many, and for 200,000 74 s."""

_PAID: Final = 14  # parts for each word of a text: Lark takes about as long for them,
_COPIED: Final = 40  # and for each that is worked in
_WORD: Final = re.compile(
    rf"""{COMMENT}|(?P<word>{STRING}|{REGEX}|\w+)|(?P<unclosed>"|/(?!/))"""
    r"""|(?P<open>[(\[])|(?P<close>[)\]])|\n[ \t]*(?=[\w%?!])"""
)
_GROUP: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)
_CHANGED: Final = frozenset({"extend", "override"})  # before the name of what is defined


def check_size(text: str, spend: Callable[[int], None]) -> None:
    """Refuse a grammar that is too large to be read.

    Args:
        text: as Lark gets it.
        spend: pays for the work of reading it.

    Raises:
        LimitError: it nests too deep, or is blank for too long.
        SourceError: a string or a regex in it has no end.
    """
    _check_blank(text)
    depth = 0
    for found in _WORD.finditer(text):
        match found.lastgroup:
            case "word":
                spend(_PAID)
                if found[0][0] == "/":
                    _check_groups(found)
            case "unclosed":
                # Lark tries 1.6^n ways to read n backslashes behind it: of 60 it would read on.
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
    """Refuse so many blank lines that Lark, which tries each as their end, is busy with them."""
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
    """Refuse a regex whose groups nest so deep that Python does not read it for Lark."""
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
    r"""Refuse terminals that come to too much, each worked in wherever it is named.

    Args:
        reading: the grammar, and those that it imports.
        spend: pays for the work.

    Raises:
        LimitError: they do; the largest is named.
    """
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
    for name in sizes:  # those that others name come first
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
    """The words of each; of two grammars with the same name, those of both."""
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
    """How much each comes to; what leads back to itself is for Lark to refuse."""
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
