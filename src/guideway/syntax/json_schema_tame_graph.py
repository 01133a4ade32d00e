"""Graphs of the parts of a JSON Schema, by id: loops, reachability, parts with instances.

All take linear time in the edges, at any depth.
"""

from collections.abc import Collection
from typing import Any, Final, TypeAlias, final

Waiting: TypeAlias = tuple[int, list[Any], bool]
"""A part, the parts whose instances it needs, and True if it needs all, not any, of them."""


def has_loop(in_place: dict[int, list[Any]]) -> bool:
    """Return True if a schema refers to itself in place; `in_place`: parts for the same instance.

    >>> a, b = {}, {}
    >>> has_loop({id(a): [b]}), has_loop({id(a): [b], id(b): [a]})
    (False, True)
    """
    closed, opened = set[int](), set[int]()
    for start in in_place:
        stack = [start]
        while stack:
            key = stack[-1]
            if key in opened or key in closed:
                stack.pop()
                opened.discard(key)
                closed.add(key)
                continue
            opened.add(key)
            below = [id(part) for part in in_place[key] if id(part) in in_place]
            if not opened.isdisjoint(below):
                return True
            stack.extend(part for part in below if part not in closed)
    return False


def reaching(goals: Collection[int], edges: list[tuple[int, list[Any]]]) -> set[int]:
    """Parts from which one of `goals` is reachable; `edges` are parts and their children."""
    around: dict[int, list[int]] = {}
    for part, below in edges if goals else ():
        for one in below:
            around.setdefault(id(one), []).append(part)
    found, todo = set(goals), list(goals)
    while todo:
        fresh = [part for part in around.get(todo.pop(), ()) if part not in found]
        found.update(fresh)
        todo.extend(fresh)
    return found


@final
class Instances:
    """Parts that surely have an instance.

    >>> leaf, box = {}, {}
    >>> known = Instances()
    >>> known.sure.add(id(leaf))
    >>> known.wait(box, [leaf, False], every=False)
    >>> known.settle(wild=())
    >>> id(box) in known.sure
    True
    """

    def __init__(self) -> None:
        self._waiting = list[Waiting]()
        self.sure: Final[set[int]] = set()

    def wait(self, part: Any, needed: list[Any], *, every: bool) -> None:
        """Record that a part has an instance if all (`every`) or any of `needed` have."""
        self._waiting.append((id(part), needed, every))

    def drop(self, parts: Collection[int]) -> None:
        """Forget the needs of some parts."""
        self._waiting = [one for one in self._waiting if one[0] not in parts]

    def settle(self, wild: Collection[int]) -> None:
        """Propagate instances to the parts that wait for them, latest first."""
        waiting = (one for one in reversed(self._waiting) if one[0] not in wild)
        left = [one for one in waiting if not self._settled(*one)]
        dependents: dict[int, list[Waiting]] = {}
        for one in left:
            for part in one[1]:
                dependents.setdefault(id(part), []).append(one)
        while left:
            one = left.pop()
            if one[0] not in self.sure and self._settled(*one):
                left.extend(dependents.get(one[0], ()))

    def _settled(self, key: int, needed: list[Any], every: bool) -> bool:
        sure = self.sure
        if (all if every else any)(part is True or id(part) in sure for part in needed):
            sure.add(key)
            return True
        return False
