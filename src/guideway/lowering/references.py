r"""References back, written out: `(a|b)x\1` is `axa|bxb`.

What a reference matches depends on what its group has matched, which no finite automaton remembers,
unless the group has few strings. Then the part of the pattern that holds both, and in which the
group cannot be left out, is written once for each of them. All else is refused by name.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from guideway.errors import GuidewayError
from guideway.lowering.fuel import spend
from guideway.lowering.texts import finite_texts
from guideway.syntax.regex_tree import (
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
    nodes_of,
)

MOST_TEXTS = 256
MOST_PARTS = 50_000

Refuse: TypeAlias = Callable[[str, Node], GuidewayError]


def written_out(root: Node, refuse: Refuse) -> Node:
    """The pattern without references, outermost groups first.

    Raises:
        GuidewayError: what `refuse` makes of a reference that cannot be written out.
    """
    while True:
        back = next((node for node in nodes_of(root) if isinstance(node, Back)), None)
        if back is None:
            return root
        root = _without(root, back, refuse)


def _without(root: Node, back: Back, refuse: Refuse) -> Node:
    """The pattern without the references to the group of this one."""
    number = back.number
    paths = paths_to(root, number)
    scopes = {id(scope): (scope, path[-1]) for path in paths for scope in [_scope(path)]}
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
    for scope, group in scopes.values():
        texts = finite_texts(children(group)[0], MOST_TEXTS)
        if texts is None:
            raise refuse(f"a reference to a group of more than {MOST_TEXTS} texts", back)
        parts += len(texts) * len(nodes_of(scope))
        if parts > MOST_PARTS:
            raise refuse(f"references that take more than {MOST_PARTS} parts to write out", back)
        options = tuple(_substituted(scope, number, text) for text in texts)
        written[id(scope)] = Group(Alternation(options, scope.place), 0, "", scope.place)
    spend(parts)
    return mapped(root, lambda node: written.get(id(node), node))


def _scope(path: list[Node]) -> Node:
    """The outermost part that, wherever it is passed, passes the last node of the path once."""
    found = path[-1]
    for node in reversed(path):
        if not isinstance(node, Sequence | Group):
            break
        found = node
    return found


def _substituted(scope: Node, number: int, text: str) -> Node:
    def change(node: Node) -> Node:
        if isinstance(node, Back | Group) and node.number == number:
            return Text(text, Mode(), node.place) if text else Sequence((), node.place)
        return node

    return mapped(scope, change)


def mapped(root: Node, change: Callable[[Node], Node]) -> Node:
    """The tree with each node changed before what is below it; explicit stack."""
    done: list[Node] = []
    todo: list[tuple[Node, bool]] = [(root, False)]
    while todo:
        node, ready = todo.pop()
        changed = node if ready else change(node)
        below = children(changed) if changed is node else ()
        if below and not ready:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(below)]
        else:
            parts = done[len(done) - len(below) :]
            del done[len(done) - len(below) :]
            done.append(_rebuilt(changed, parts) if below else changed)
    return done[0]


def _rebuilt(node: Node, parts: list[Node]) -> Node:
    if all(new is old for new, old in zip(parts, children(node), strict=True)):
        return node
    if isinstance(node, Sequence):
        return replace(node, items=tuple(parts))
    if isinstance(node, Alternation):
        return replace(node, options=tuple(parts))
    return replace(node, item=parts[0]) if isinstance(node, Group | Repeat | Look) else node


def paths_to(root: Node, number: int) -> list[list[Node]]:
    """From the root down to each group with this number."""
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
