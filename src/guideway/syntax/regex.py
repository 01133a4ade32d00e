r"""Parser of regular expressions, for two dialects.

python: the str patterns of `re`, and \p{…}. ecma: "pattern" of JSON Schema, ECMA-262 with its u
flag. Where that would be an error and all engines that accept the pattern agree, it is accepted:
`\-` and a lone `]` as in Annex B; `(?P<n>…)`, `(?P=n)`, `(?#…)`, `\A`, `\z`, `\Z`, `\x{41}`, `\pL`,
`[[:alpha:]]` and flags after the beginning as in RE2 and Python.

Refused by name: conditional groups, atomic groups, possessive counts, and flag L. `lowering.regex`
refuses lookaround and back references without a finite automaton. The parser keeps its own stack,
so that no pattern can exhaust Python's.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from guideway.errors import SourceError, brief
from guideway.syntax.regex_classes import read_class
from guideway.syntax.regex_escapes import Name, read_escape
from guideway.syntax.regex_flags import EXCLUSIVE, read_flags, start_mode
from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    Back,
    Boundary,
    Dot,
    Group,
    Look,
    Mode,
    Node,
    Pattern,
    Repeat,
    Sequence,
    Text,
)
from guideway.syntax.regex_width import Width, width
from guideway.syntax.source import Cursor
from guideway.syntax.sources import Dialect

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


@final
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


@final
class _Parser:
    def __init__(self, pattern: str, mode: Mode, flags: str) -> None:
        self._cursor = Cursor(pattern)
        self._top = _Open(mode, 0)
        self._outer: list[_Open] = []
        self._flags_of_all = flags
        self._names: dict[str, int] = {}
        self._closed = [False]  # of each capturing group, by number
        self._closed_last: list[tuple[int, Node]] = []  # capturing groups, not measured yet
        self._widths: dict[int, Width] = {}  # of the other closed groups
        self._looks = self._boundaries = self._backs = False

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
        body = self._finish(self._top)
        return Pattern(cursor.text, body, self._looks, self._boundaries, self._backs)

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
            self._boundaries = self._boundaries or isinstance(escape, Boundary)
            node = Text(chr(escape), mode, at) if isinstance(escape, int) else escape
            self._top.items.append(node)

    def _back(self, number: int, at: int) -> None:
        if number >= len(self._closed):
            raise self._cursor.error(f"there is no group {number} before this place", at)
        if not self._closed[number]:
            raise self._cursor.error(f"group {number} is still open here", at)
        self._backs = True
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
                "there is nothing to repeat; write \\ before it for the character itself",
                at,
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
        if group.look:
            self._top.items.append(self._look(group.look, body, group.place))
            return
        self._top.items.append(Group(body, group.number, group.name, group.place))
        if group.number:
            self._closed[group.number] = True
            self._closed_last.append((group.number, body))

    def _look(self, sign: str, body: Node, at: int) -> Look:
        self._looks = True
        ahead = sign in "=!"
        if not ahead and self._top.mode.dialect == "python":
            least, most = self._width(body)
            if least != most:
                raise self._cursor.error(
                    "re supports only lookbehinds of a fixed length; use dialect='ecma' for others",
                    at,
                )
        return Look(body, ahead, sign[-1] == "!", at)

    def _width(self, body: Node) -> Width:
        """Width of a part; few patterns need it, so groups are measured only then."""
        for number, group in self._closed_last:
            self._widths[number] = width(group, self._widths)
        self._closed_last.clear()
        return width(body, self._widths)

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
_REFUSED = {
    ">": "atomic group",
    "(": "conditional group",
}
