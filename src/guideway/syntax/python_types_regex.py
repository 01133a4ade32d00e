r"""Patterns of Rust's and of Python's regular expressions, said in ECMA-262 for JSON Schema.

pydantic searches with Rust's regex crate, or with `re` where it is told to (`regex_engine`, or a
compiled pattern). Both read \d, \w, \s and the dot differently from ECMA-262, and Python's $ lets a
newline follow::

    written          Rust                    Python                      printed
    \d               Nd                      Nd                          \p{Nd}
    \w               Alphabetic, M, Nd, Pc   str.isalnum and _           [\p{L}\p{M}…]
    .                all but \n              all but \n                  [^\n]
    $                end of the text         also before a last newline  $, (?:\n)?$

The pattern is parsed by `syntax.regex` and printed from its tree. What ECMA-262 cannot say, case
folding above all, is refused by name. A newer Unicode than Python's may be in Rust's tables: where
a class is negated, code points that Python does not know are left out, and of the unassigned ones
those are on offer that stay so, so that no text is offered that pydantic might reject. Nor are
those on offer whose category has changed since Unicode 14, where that decides.
"""

import re
from dataclasses import replace
from typing import Literal, TypeAlias

from guideway.errors import GuidewayError, UnsupportedError
from guideway.syntax.python_types_place import Place
from guideway.syntax.regex import parse_regex
from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    Back,
    Boundary,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Range,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    children,
)

Engine: TypeAlias = Literal["rust", "python"]

_RUST_SPACE = r"\t-\r \u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}"
_SETS: dict[tuple[str, str], str] = {
    ("rust", "digit"): r"\p{Nd}",
    ("rust", "space"): _RUST_SPACE,
    # UTS #18's word characters. Of the alphabetic ones that are no letter, letter number or mark,
    # there are the circled and squared letters only.
    ("rust", "word"): (
        r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u{200c}\u{200d}\u{24b6}-\u{24e9}"
        r"\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}"
    ),
    ("python", "digit"): r"\p{Nd}",
    ("python", "space"): r"\u{1c}-\u{1f}" + _RUST_SPACE,
    ("python", "word"): r"_\p{L}\p{N}",
    ("ascii", "digit"): "0-9",
    ("ascii", "space"): r"\t-\r ",
    ("ascii", "word"): "_0-9A-Za-z",
}
# Code points that no version of Unicode assigns.
_NEVER = r"\u{fdd0}-\u{fdef}" + "".join(
    f"\\u{{{plane:x}fffe}}\\u{{{plane:x}ffff}}" for plane in range(17)
)
_UNASSIGNED = {"Cn": _NEVER, "C": r"\p{Cc}\p{Cf}\p{Co}" + _NEVER}
# Moved from Mn to Mc, and from Ll to Lo, in Unicode 15 to 17; L and M hold them all the same.
_MOVED = {
    **dict.fromkeys(("Mn", "Mc"), r"\u{1171e}"),
    **dict.fromkeys(("Ll", "Lo", "LC"), r"\u{295}"),
}
_SIGNS: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_ONE_PROPERTY = re.compile(r"\\p\{\w+\}")
_RUST_ONLY = re.compile(r"\\[<>]|\\b\{")
_REFUSED = {Look: "lookaround", Boundary: "word boundary", Back: "backreference"}
_COUNT = re.compile(r"\{[\s0-9,]*\}")  # with blanks, which ECMA-262 takes for text
_RUST_ANCHORS = {r"\A": "^", r"\z": "$"}
_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}


def trimmed() -> str:
    """The pattern of texts without white space at either end, as Rust's `trim` sees it."""
    solid = f"[^{_RUST_SPACE}]"
    return rf"^(?:{solid}(?:[\s\S]*{solid})?)?$"


def translate(pattern: str | re.Pattern[str], engine: Engine, at: Place) -> str:
    r"""The same search in ECMA-262.

    >>> translate(r"^\d{3}$", "rust", Place("zip"))
    '^\\p{Nd}{3}$'

    Raises:
        UnsupportedError: it uses what ECMA-262 or guideway does not have, by name.
    """
    try:
        if isinstance(pattern, re.Pattern):
            flags = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
            return _print(parse_regex(pattern.pattern, "python", flags).body, "python", True)
        if engine == "python":
            return _print(parse_regex(pattern, "python").body, "python", True)
        return _from_rust(pattern)
    except GuidewayError as error:
        message = str(error).partition("\n")[0]
        feature = getattr(error, "feature", "") or "pattern"
        why = f"cannot be honoured: {message}"
        raise at.refuse(f"the pattern {_text(pattern)!r}", why, feature) from None


def _unsupported(feature: str, hint: str = "") -> UnsupportedError:
    return UnsupportedError(f"{feature} is not supported{hint}", feature=feature)


def _text(pattern: str | re.Pattern[str]) -> str:
    return pattern.pattern if isinstance(pattern, re.Pattern) else pattern


def _from_rust(pattern: str) -> str:
    plain = _plain_classes(pattern)
    body = parse_regex(plain, "ecma").body
    return _print(body, "rust", True) if _differs(body) else plain


def _plain_classes(pattern: str) -> str:
    """`pattern`, if its classes are no more than ECMA-262's; anchors and counts in its spelling."""
    if _RUST_ONLY.search(pattern):
        raise _unsupported("a word boundary")
    printed: list[str] = []
    opened = -1  # where the class began
    at = 0
    while at < len(pattern):
        part = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if opened < 0:
            opened = at if part == "[" else -1
            count = _COUNT.match(pattern, at)
            part = count[0] if count else part
            printed.append(re.sub(r"\s", "", part) if count else _RUST_ANCHORS.get(part, part))
        else:
            first = pattern[opened + 1 : at] in ("", "^")
            if part == "[" or (part == "]" and first) or pattern[at : at + 2] in ("&&", "--", "~~"):
                raise _unsupported("a class inside a class")
            opened = -1 if part == "]" else opened
            printed.append(part)
        at += len(part)
    return "".join(printed)


def _differs(root: Node) -> bool:
    """Whether anything in the tree means something else in ECMA-262."""
    todo = [root]
    while todo:
        node = todo.pop()
        shorthands = node.items if isinstance(node, Class) else (node,)
        if isinstance(node, Dot | Look | Boundary | Back) or any(
            isinstance(item, Shorthand) for item in shorthands
        ):
            return True
        todo.extend(children(node))
    return False


def _print(node: Node, engine: Engine, last: bool) -> str:
    """`node` in ECMA-262; `last`: nothing follows it."""
    match node:
        case Sequence(items):
            ends = [last and index == len(items) for index in range(1, len(items) + 1)]
            return "".join(_print(item, engine, end) for item, end in zip(items, ends, strict=True))
        case Alternation(options):
            return "|".join(_print(option, engine, last) for option in options)
        case Group(item):
            return f"(?:{_print(item, engine, last)})"
        case Repeat(item, low, high):
            return f"{_print(item, engine, False)}{_count(low, high)}"
        case Anchor(kind):
            return _print_anchor(kind, last)
        case Look() | Boundary() | Back():
            raise _unsupported(_REFUSED[type(node)])
        case _:
            return _print_leaf(node, engine)


def _count(low: int, high: int | None) -> str:
    sign = _SIGNS.get((low, high))
    if sign is not None:
        return sign
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _print_leaf(node: Text | Class | Shorthand | Dot, engine: Engine) -> str:
    if node.mode.ignore_case:
        raise _unsupported("flag i")
    match node:
        case Text(text):
            return "".join(map(_character, map(ord, text)))
        case Dot(mode):
            return r"[\s\S]" if mode.dot_all else r"[^\n]"
        case Shorthand():
            return _print_class((node,), False, engine)
        case _:
            return _print_class(node.items, node.negated, engine)


def _print_anchor(kind: str, last: bool) -> str:
    match kind:
        case "text start":
            return "^"
        case "text end":
            return "$"
        case "last line end" if last:
            return r"(?:\n)?$"
        case "last line end":
            raise _unsupported("$ before the end of a pattern", "; write \\Z")
        case _:
            raise _unsupported("flag m")


def _print_class(items: tuple[int | Range | Shorthand, ...], negated: bool, engine: Engine) -> str:
    if negated:
        return _print_others(items, engine)
    apart = [item for item in items if _is_negated(item) or _moved(item, engine)]
    inside = [_item(item, engine, True) for item in items if item not in apart]
    if len(items) == 1 and _ONE_PROPERTY.fullmatch("".join(inside)):
        return inside[0]
    options = [f"[{''.join(inside)}]"] if inside else []
    options += [_print_apart(item, engine) for item in apart]
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _print_apart(item: int | Range | Shorthand, engine: Engine) -> str:
    """What is only said by what it is not."""
    part = _item(item, engine, False)
    left_out = part + _unknown(engine) if _is_negated(item) else part.replace("p", "P", 1)
    return f"[^{left_out}{_moved(item, engine)}]"


def _print_others(items: tuple[int | Range | Shorthand, ...], engine: Engine) -> str:
    """The characters that are not in a class."""
    match items:
        case (Shorthand(negated=True) as item,):
            return _print_class((replace(item, negated=False),), False, engine)
        case _ if any(map(_is_negated, items)):
            raise _unsupported("the opposite of a class that holds \\D, \\S or \\W")
        case _:
            pass
    inside = "".join(_item(item, engine, False) for item in items)
    named = any(isinstance(item, Shorthand) for item in items)
    left_out = "".join(_moved(item, engine) for item in items)
    return f"[^{inside}{_unknown(engine) if named else ''}{left_out}]"


def _unknown(engine: Engine) -> str:
    return r"\p{Cn}" if engine == "rust" else ""


def _moved(item: int | Range | Shorthand, engine: Engine) -> str:
    """The characters whose being in a category depends on the version of Unicode."""
    return _MOVED.get(item.name, "") if engine == "rust" and isinstance(item, Shorthand) else ""


def _is_negated(item: int | Range | Shorthand) -> bool:
    return isinstance(item, Shorthand) and item.negated


def _item(item: int | Range | Shorthand, engine: Engine, meant: bool) -> str:
    """An item of a class; `meant`: what it holds is on offer, not what it leaves."""
    match item:
        case Range(low, high):
            return f"{_character(low)}-{_character(high)}"
        case Shorthand(name) if meant and engine == "rust" and name in _UNASSIGNED:
            return _UNASSIGNED[name]
        case Shorthand(name):
            tables = "ascii" if item.mode.ascii else engine
            return _SETS.get((tables, name), f"\\p{{{name}}}")
        case _:
            return _character(item)


def _character(code: int) -> str:
    character = chr(code)
    if (character.isascii() and character.isalnum()) or character in " _":
        return character
    if character.isascii() and character.isprintable():
        return f"\\{character}"
    return f"\\u{{{code:x}}}"
