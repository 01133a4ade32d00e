r"""The tree of a regular expression.

    node            written as
    Text            abc, and one character by any escape: \n \x41 \N{EM DASH}
    Class           [a-z\d_], [^"]
    Shorthand       \d \w \s \D \W \S, \p{Lu} (also inside a Class)
    Dot             .
    Anchor          ^ $ \A \Z
    Boundary        \b \B
    Look            (?=…) (?!…) (?<=…) (?<!…)
    Back            \1, (?P=name), \k<name>
    Group           (…), (?P<name>…), (?:…), (?i:…)
    Repeat          * + ? {2,5}, and lazily *? +? ?? {2,5}?
    Sequence        parts in a row: two or more, or none at all
    Alternation     a|b|c

Flags are not in the tree: each leaf carries the Mode at its place. Nothing is simplified.
"""

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, TypeAlias, assert_never, final

from guideway.syntax.frozen import by_value
from guideway.syntax.sources import Dialect

AnchorKind: TypeAlias = Literal["text start", "line start", "text end", "line end", "last line end"]


@final
@by_value
class Mode:
    """Dialect and flags at a place; `ascii`: shorthands and case are ASCII's."""

    dialect: Dialect = "python"
    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii: bool = False


@final
@by_value
class Text:
    """Characters or code points, lone surrogates included, as written."""

    text: str
    mode: Mode
    place: int


@final
@by_value
class Range:
    """Code points `low` to `high`, both included."""

    low: int
    high: int


@final
@by_value
class Shorthand:
    r"""A named set: "digit", "space", "word"; for \p{…} a category ("Lu"), Any, ASCII, Assigned."""

    name: str
    negated: bool
    mode: Mode
    place: int


@final
@by_value
class Class:
    items: tuple[int | Range | Shorthand, ...]
    negated: bool
    mode: Mode
    place: int


@final
@by_value
class Dot:
    mode: Mode
    place: int


@final
@by_value
class Anchor:
    """A position; "last line end" is the end, or before a newline there."""

    kind: AnchorKind
    place: int


@final
@by_value
class Boundary:
    """A boundary of a word, or any other position if negated."""

    negated: bool
    mode: Mode
    place: int


@final
@by_value
class Back:
    number: int
    mode: Mode
    place: int


@final
@by_value
class Look:
    """A lookahead (`ahead`) or lookbehind."""

    item: "Node"
    ahead: bool
    negated: bool
    place: int


@final
@by_value
class Group:
    """Parentheses; `number` counts capturing groups from 1, and is 0 for others."""

    item: "Node"
    number: int
    name: str
    place: int


@final
@by_value
class Repeat:
    item: "Node"
    low: int
    high: int | None
    lazy: bool
    place: int


@final
@by_value
class Sequence:
    items: "tuple[Node, ...]"
    place: int


@final
@by_value
class Alternation:
    options: "tuple[Node, ...]"
    place: int


Leaf: TypeAlias = Text | Class | Shorthand | Dot | Anchor | Boundary | Back
Node: TypeAlias = Leaf | Look | Group | Repeat | Sequence | Alternation


@final
@by_value
class Pattern:
    """Text and tree of a pattern, and whether it has any Look, Boundary or Back; hashes by text."""

    text: str
    body: Node = field(hash=False)
    looks: bool = field(default=False, hash=False)
    boundaries: bool = field(default=False, hash=False)
    backs: bool = field(default=False, hash=False)


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Sequence(items):
            return items
        case Alternation(options):
            return options
        case Group(item) | Repeat(item) | Look(item):
            return (item,)
        case _:
            return ()


def nodes_of(root: Node, stop: frozenset[int] = frozenset()) -> list[Node]:
    """All nodes in preorder, without the subtrees with the ids `stop`."""
    found, todo = list[Node](), [root]
    while todo:
        node = todo.pop()
        if id(node) not in stop:
            found.append(node)
            todo += reversed(children(node))
    return found


def refers_by_number(pattern: Pattern) -> bool:
    r"""Return True for a back reference by number, such as \1."""
    nodes = nodes_of(pattern.body) if pattern.backs else ()
    return any(isinstance(node, Back) and pattern.text[node.place] == "\\" for node in nodes)


def outline(pattern: Pattern) -> Iterator[str]:
    """The tree as indented lines, each with its offset; not recursive.

    >>> from guideway.syntax.regex import parse_regex
    >>> for line in outline(parse_regex("[a-c]x*$")):
    ...     print(line)
    0: Sequence
    0:   Class one of a-c
    5:   Repeat 0 or more
    5:     Text 'x'
    7:   Anchor last line end
    """
    todo: list[tuple[int, Node]] = [(0, pattern.body)]
    while todo:
        depth, node = todo.pop()
        yield f"{node.place}: {'  ' * depth}{type(node).__name__} {_describe(node)}".rstrip()
        todo += [(depth + 1, child) for child in reversed(children(node))]


def _describe(node: Node) -> str:  # noqa: PLR0911  one arm for each node
    match node:
        case Text(text):
            return repr(text)
        case Class(items, negated):
            return f"{'none' if negated else 'one'} of {' '.join(map(_describe_item, items))}"
        case Shorthand():
            return _describe_item(node)
        case Anchor(kind):
            return kind
        case Boundary(negated):
            return "no" if negated else ""
        case Back(number):
            return str(number)
        case Look(_, ahead, negated):
            return f"{'not ' if negated else ''}{'ahead' if ahead else 'behind'}"
        case Group(_, number, name):
            return f"{number or ''} {name}".strip()
        case Repeat(_, low, high, lazy):
            return f"{low} {'or more' if high is None else f'to {high}'}{' lazily' if lazy else ''}"
        case _:
            return ""


def _describe_item(item: int | Range | Shorthand) -> str:
    match item:
        case Shorthand(name, negated):
            return f"not {name}" if negated else name
        case Range(low, high):
            return f"{_describe_item(low)}-{_describe_item(high)}"
        case int():
            return ascii(chr(item))[1:-1]
        case _:
            assert_never(item)
