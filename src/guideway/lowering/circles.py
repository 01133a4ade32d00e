"""Strongly connected components of a graph (Tarjan 1972), without recursion."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def circles(
    start: Node, following: Callable[[Node], Sequence[Node]], seen: set[Node] | None = None
) -> Iterator[list[Node]]:
    """The components that can be reached from `start`, successors first.

    Example:
        >>> graph = {"a": ["b"], "b": ["c", "b"], "c": ["b", "d"], "d": []}
        >>> list(circles("a", graph.__getitem__))
        [['d'], ['c', 'b'], ['a']]

    Args:
        start: where to begin.
        following: where edges lead from a node.
        seen: nodes that are passed over; those that are found are added.
    """
    seen = set[Node]() if seen is None else seen
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    open_: list[Node] = []
    path = [(start, iter(following(start)))]
    _enter(start, number, lowest, open_)
    while path:
        node, rest = path[-1]
        after = next((each for each in rest if each not in seen), None)
        if after is None:
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
            if lowest[node] == number[node]:
                yield _closed(node, open_, seen)
        elif after in number:
            lowest[node] = min(lowest[node], number[after])
        else:
            _enter(after, number, lowest, open_)
            path.append((after, iter(following(after))))


def _enter(node: Node, number: dict[Node, int], lowest: dict[Node, int], open_: list[Node]) -> None:
    number[node] = lowest[node] = len(number)
    open_.append(node)


def _closed(node: Node, open_: list[Node], seen: set[Node]) -> list[Node]:
    found: list[Node] = []
    while not found or found[-1] != node:
        found.append(open_.pop())
    seen.update(found)
    return found
