"""Back-references to groups of a few texts, written out."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from guideway.errors import GuidewayError
from guideway.language.finite_languages import Decisions
from guideway.language.fuel import spend
from guideway.language.utf8 import character
from guideway.regex.plain import NotByParts, lower_plain
from guideway.regex.tree import (
    Alternation,
    Back,
    Group,
    Look,
    Mode,
    Node,
    Repeat,
    Sequence,
    Text,
    children,
    folded,
    nodes_of,
)

MOST_TEXTS = 256
MOST_PARTS = 50_000

Refuse: TypeAlias = Callable[[str, Node], GuidewayError]


def written_out(root: Node, refuse: Refuse, *, free: bool = False) -> Node:
    """Replace references by the texts of their groups, outermost groups first.

    `free` refuses a group if one of its texts is a prefix of another, as then their order matters.
    `refuse` makes the error for a reference that cannot be replaced.
    """
    while True:
        back = next((node for node in nodes_of(root) if isinstance(node, Back)), None)
        if back is None:
            return root
        root = _expand_references(root, back, refuse, free)


def _expand_references(root: Node, back: Back, refuse: Refuse, free: bool) -> Node:
    number = back.number
    paths = paths_to(root, number)
    scopes = {id(inside[0]): inside for inside in map(_scope, paths)}
    outside = nodes_of(root, stop=frozenset(scopes))
    if not paths or any(isinstance(node, Back) and node.number == number for node in outside):
        raise refuse(
            "a reference to a group that may be left out, repeated or inside another", back
        )
    if any(
        isinstance(n, Back) and n.number == number and n.mode.ignore_case for n in nodes_of(root)
    ):
        raise refuse("a reference that ignores case", back)
    written: dict[int, Node] = {}
    parts = 0
    for path in scopes.values():
        texts = _texts(children(path[-1])[0])
        if texts is None:
            raise refuse(f"a reference to a group of more than {MOST_TEXTS} texts", back)
        if free and any(map(str.startswith, texts[1:], texts)):
            raise refuse("a reference to a group of which one text begins another", back)
        before, after = _context(path)
        parts += len(texts) * (1 + len(nodes_of(after)))
        if parts > MOST_PARTS:
            raise refuse(f"references that take more than {MOST_PARTS} parts to write out", back)
        place = path[0].place
        options = tuple(
            Sequence(tuple(_substituted(each, number, text) for each in (path[-1], after)), place)
            for text in texts
        )
        choice = Group(Alternation(options, place), 0, "", place)
        written[id(path[0])] = Group(Sequence((*before, choice), place), 0, "", place)
    spend(parts)
    return mapped(root, lambda node: written.get(id(node), node))


def _texts(root: Node) -> list[str] | None:
    """All strings of a part; None if they are too many or depend on their context."""
    try:
        words = Decisions(spend).words(lower_plain(root, character), MOST_TEXTS)
    except NotByParts:
        return None
    return None if words is None else [word.decode() for word in words]


def _scope(path: list[Node]) -> list[Node]:
    """The end of a path from the outermost part that always matches the last node exactly once."""
    top = len(path) - 1
    while top and isinstance(path[top - 1], Sequence | Group):
        top -= 1
    return path[top:]


def _context(path: list[Node]) -> tuple[list[Node], Node]:
    """Items before and after the last node of a path, inside the first node."""
    before, after = list[Node](), list[Node]()
    for node, inner in pairwise(path):
        items = children(node)
        place = next(index for index, item in enumerate(items) if item is inner)
        before += items[:place]
        after[:0] = items[place + 1 :]
    return before, Sequence(tuple(after), path[-1].place)


def _substituted(scope: Node, number: int, text: str) -> Node:
    def change(node: Node) -> Node:
        if isinstance(node, Back | Group) and node.number == number:
            return Text(text, Mode(), node.place) if text else Sequence((), node.place)
        return node

    return mapped(scope, change)


def mapped(root: Node, change: Callable[[Node], Node]) -> Node:
    """Change nodes from the root down, without entering changed ones."""
    return folded(
        root,
        lambda node, parts: _rebuilt(node, parts) if parts else change(node),
        lambda node: children(node) if change(node) is node else (),
    )


def _rebuilt(node: Node, parts: list[Node]) -> Node:
    if all(new is old for new, old in zip(parts, children(node), strict=True)):
        return node
    if isinstance(node, Sequence):
        return replace(node, items=tuple(parts))
    if isinstance(node, Alternation):
        return replace(node, options=tuple(parts))
    return replace(node, item=parts[0]) if isinstance(node, Group | Repeat | Look) else node


def paths_to(root: Node, number: int) -> list[list[Node]]:
    """Paths from the root to each group with this number."""
    found: list[list[Node]] = []
    path: list[Node] = []
    todo: list[tuple[int, Node]] = [(0, root)]
    while todo:
        depth, node = todo.pop()
        path[depth:] = [node]
        if isinstance(node, Group) and node.number == number:
            found.append(path[: depth + 1])
        todo += [(depth + 1, child) for child in children(node)]
    return found
