r"""References back in a terminal, written out in the order in which backtracking tries them.

    (["'])[^\n]*?\1     is     (?:"[^\n]*?"|'[^\n]*?')

What stands behind a group that is referred to is written once for each text of the group, those
first that `re` would try first: so what is preferred stays preferred. The group has to have few
texts and to be passed on every way to the references, all of which stand behind it in the same
row. All else is refused by name.
"""

from collections.abc import Callable
from collections.abc import Sequence as Listed
from itertools import pairwise, product
from typing import TypeAlias

from guideway.errors import GuidewayError
from guideway.lowering.fuel import spend
from guideway.lowering.references import MOST_PARTS, MOST_TEXTS, mapped, paths_to
from guideway.lowering.texts import finite_texts, folded
from guideway.syntax.regex_tree import (
    Alternation,
    Back,
    Class,
    Dot,
    Group,
    Mode,
    Node,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    children,
    nodes_of,
)

Refuse: TypeAlias = Callable[[str, Node], GuidewayError]


def in_order(root: Node, refuse: Refuse) -> Node:
    """The pattern without references, with the same matches preferred.

    Raises:
        GuidewayError: what `refuse` makes of a reference that cannot be written out.
    """
    while True:
        backs = [node for node in nodes_of(root) if isinstance(node, Back)]
        if not backs:
            return root
        # The last group first: what is written more than once then holds no group referred to.
        root = _without(root, max(backs, key=_number), refuse)


def _number(back: Back) -> int:
    return back.number


def _without(root: Node, back: Back, refuse: Refuse) -> Node:
    """The pattern without the references to the group of this one."""
    paths = paths_to(root, back.number)
    path = paths[0] if len(paths) == 1 else [root]
    top = len(path) - 1
    while top and isinstance(path[top - 1], Sequence | Group):
        top -= 1  # passed exactly once
    before, after = _beside(path[top:])
    behind = Sequence(after, back.place)
    found = _references(behind, back.number)
    if len(paths) != 1 or len(found) != len(_references(root, back.number)):
        raise refuse("a reference to a group that may be left out, or inside another", back)
    if any(each.mode.ignore_case for each in found):
        raise refuse("a reference that ignores case", back)
    texts = _texts(children(path[-1])[0])
    if texts is None:
        raise refuse(f"a reference to a group of other than {MOST_TEXTS} texts at most", back)
    parts = len(texts) * len(nodes_of(behind))
    if parts > MOST_PARTS:
        raise refuse(f"references that take more than {MOST_PARTS} parts to write out", back)
    spend(parts)
    options = tuple(_with_text(behind, back.number, text) for text in texts)
    choice = Group(Alternation(options, back.place), 0, "", back.place)
    written = Group(Sequence((*before, choice), back.place), 0, "", back.place)
    return mapped(root, lambda node: written if node is path[top] else node)


def _references(root: Node, number: int) -> list[Back]:
    return [node for node in nodes_of(root) if isinstance(node, Back) and node.number == number]


def _beside(path: Listed[Node]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """What stands before and behind the last node of a path, in the first."""
    before: list[Node] = []
    after: list[Node] = []
    for node, inner in pairwise(path):
        items = children(node)
        place = next(index for index, item in enumerate(items) if item is inner)
        before += items[:place]
        after[:0] = items[place + 1 :]
    return tuple(before), tuple(after)


def _with_text(behind: Node, number: int, text: str) -> Node:
    """The text of a group, and what stands behind it with the text for each reference."""

    def written(node: Node) -> Node:
        return Text(text, Mode(), node.place) if text else Sequence((), node.place)

    def change(node: Node) -> Node:
        return written(node) if isinstance(node, Back) and node.number == number else node

    return Sequence((written(behind), mapped(behind, change)), behind.place)


def _texts(root: Node) -> Listed[str] | None:
    """The texts of a part, those first that are tried first; None if they are too many."""

    def once(node: Node, parts: list[list[str]]) -> list[str] | None:
        found = _tried(node, parts)
        return None if found is None else list(dict.fromkeys(found))

    return folded(root, once)


def _tried(node: Node, parts: list[list[str]]) -> list[str] | None:
    match node:
        case Text() | Class() | Shorthand() | Dot():
            return finite_texts(node, MOST_TEXTS)  # of one length: one is there at most
        case Group():
            return parts[0]
        case Alternation():
            return _few([text for part in parts for text in part])
        case Sequence():
            found: list[str] | None = [""]
            for part in parts:
                found = None if found is None else _then(found, part)
            return found
        case Repeat(_, low, high, lazy) if high is not None and high <= MOST_TEXTS:
            return _rounds(parts[0], low, high, lazy)
        case _:
            return None


def _rounds(item: list[str], low: int, high: int, lazy: bool) -> list[str] | None:
    found: list[str] | None = [""]
    for missing in range(high):
        if found is None:
            return None
        if missing < high - low:
            # A round of nothing is the last one.
            more = [text + rest for text in item for rest in (found if text else [""])]
            found = _few(["", *more] if lazy else [*more, ""])
        else:
            found = _then(item, found)
    return found


def _then(first: list[str], second: list[str]) -> list[str] | None:
    if len(first) * len(second) > MOST_TEXTS:
        return None
    return [text + more for text, more in product(first, second)]


def _few(texts: list[str]) -> list[str] | None:
    found = list(dict.fromkeys(texts))
    return found if len(found) <= MOST_TEXTS else None
