"""What follows from how the parts of a JSON Schema hang together, told by their ids alone.

Which stand for themselves, which surely have an instance as others have one, and from which a given
one can be reached: graphs, in time linear in their edges, at any depth.

What this module does not know: keywords, and who needs whom.
"""

from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias, final

Waiting: TypeAlias = tuple[int, list[Any], bool]
"""A part, the parts it needs to have an instance, and whether it needs all of them or any."""


def has_loop(in_place: dict[int, list[Any]]) -> bool:
    """Whether a schema stands for itself.

    >>> a, b = {}, {}
    >>> has_loop({id(a): [b]}), has_loop({id(a): [b], id(b): [a]})
    (False, True)

    Args:
        in_place: which parts look at the same instance as a part does.
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
    """The parts from which one of `goals` can be reached, these included.

    Args:
        goals: ids of parts.
        edges: the parts right below a part.
    """
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
    """Which parts surely have an instance.

    >>> leaf, box = {}, {}
    >>> known = Instances()
    >>> known.sure.add(id(leaf))
    >>> known.wait(box, [leaf, False], every=False)
    >>> known.settle(wild=())
    >>> id(box) in known.sure
    True
    """

    def __init__(self, needed: Callable[[Any], Any] | None = None) -> None:
        """Begin with none.

        Args:
            needed: gives what is needed instead of a part, True if nothing is.
        """
        self._needed, self._waiting = needed, list[Waiting]()
        self.sure: Final[set[int]] = set()

    def wait(self, part: Any, needed: list[Any], *, every: bool) -> None:
        """Note that a part has an instance if `needed`, every one or any, have."""
        listed = needed if self._needed is None else [*map(self._needed, needed)]
        self._waiting.append((id(part), listed, every))

    def drop(self, parts: Collection[int]) -> None:
        """Forget what some parts would need; it is told in another way."""
        self._waiting = [one for one in self._waiting if one[0] not in parts]

    def settle(self, wild: Collection[int]) -> None:
        """Who needs others has an instance if they have; mostly these were met later."""
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
        self._needed = None  # which holds this: both would wait for Python's collector

    def _settled(self, key: int, needed: list[Any], every: bool) -> bool:
        sure = self.sure
        if (all if every else any)(part is True or id(part) in sure for part in needed):
            sure.add(key)
            return True
        return False
