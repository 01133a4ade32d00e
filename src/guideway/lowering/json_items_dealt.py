"""Choose distinct values for the items of an array: bipartite matching (Kuhn 1955).

Items with infinitely many values are left out of the matching. Alternatives are tried one by one.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, final

from guideway.lowering.expr import literal
from guideway.lowering.fuel import spend
from guideway.lowering.json_endless import endless_options
from guideway.lowering.json_formulas import Formula
from guideway.lowering.json_items_ways import Rest, Used, Ways, among, beside, pay
from guideway.lowering.json_values import Exact, read_exact
from guideway.lowering.nodes import Least

# Fuel to exclude one value: 150 of 200 listed numbers were refused after 8.5 s.
_TAKEN: Final = 80
_SPELLED: Final = literal(bytes(range(256)))  # has a text only if every byte can be spelled


def deal(ways: Ways, start: Rest, least: Least) -> "Dealt | None":
    """Distinct unused values for items that complete the array, None if there are none."""
    dealt = Dealt(ways, start.used, least)
    stack = [(start, iter(ways.steps(start)))]
    on_the_way, hopeless = {(start.position, start.said)}, set[object]()
    tries = 0
    while not ways.may_close(stack[-1][0].said):
        rest, steps = stack[-1]
        step = next((s for s in steps if (s.position, s.said) not in on_the_way), None)
        if step is None:
            hopeless.add(_asked(rest, dealt))
            stack.pop()
            on_the_way.remove((rest.position, rest.said))
            if not stack:
                return None
            dealt.drop()
            continue
        tries += 1
        pay(tries)
        if dealt.add(step.value):
            behind = Rest(step.position, start.used, step.said, False)
            if hopeless and _asked(behind, dealt) in hopeless:
                dealt.drop()
                continue
            stack.append((behind, iter(ways.steps(behind))))
            on_the_way.add((behind.position, behind.said))
    return dealt


def critical(ways: Ways, start: Rest, least: Least) -> frozenset[Exact] | None:
    """Values that the next item must leave to later ones; None if no completion is left."""
    dealt = deal(ways, start, least)
    if dealt is None:
        return None
    found: set[Exact] = set()
    for value in dealt.scarce():
        if not dealt.can_do_without(value):
            without = Rest(start.position, start.used | {value}, start.said, False)
            if deal(ways, without, least) is None:
                found.add(value)
    return frozenset(found)


def _asked(rest: Rest, dealt: "Dealt") -> object:
    return rest.position, rest.said, frozenset(Counter(dealt.items).items())


@final
@dataclass(slots=True)
class Dealt:
    """Items, each with a value of its own.

    `used`: values that no item may have. `owners`: the item that has a value. `endless`: cache of
    `_is_endless`; without it, 1,000 items took 1.1 s in one mask.
    """

    ways: Ways
    used: Used
    least: Least
    items: list[Formula] = field(default_factory=list[Formula])
    owners: dict[Exact, int] = field(default_factory=dict[Exact, int])
    endless: dict[Formula, bool] = field(default_factory=dict[Formula, bool])

    def add(self, value: Formula) -> bool:
        """Find a value for one more item; if there is none, change nothing."""
        self.items.append(value)
        if self._is_endless(value) or self._find(len(self.items) - 1, self.used):
            return True
        self.items.pop()
        return False

    def drop(self) -> None:
        self.items.pop()
        last = len(self.items)
        self.owners = {value: item for value, item in self.owners.items() if item != last}

    def scarce(self) -> list[Exact]:
        """The values of items that have no free value to change to."""
        taken = self.used | self.owners.keys()
        owning = {self.items[item] for item in self.owners.values()}
        spare = {one: self._free(one, taken) is not None for one in owning}
        return [value for value, item in self.owners.items() if not spare[self.items[item]]]

    def can_do_without(self, value: Exact) -> bool:
        """Return True if the items find values without this one."""
        index = self.owners.pop(value, None)
        if index is None or self._find(index, self.used | {value}):
            return True
        self.owners[value] = index
        return False

    def _is_endless(self, value: Formula) -> bool:
        """Return True if infinitely many values satisfy a formula and can be spelled."""
        if value not in self.endless:
            self.endless[value] = self._looks_endless(value)
        return self.endless[value]

    def _looks_endless(self, value: Formula) -> bool:
        options = endless_options(self.ways.value(value))
        # Regular options have texts: searching for the least took half of a compilation.
        found = any(option.regular or self.least(option) is not None for option in options)
        return found and self.least(_SPELLED) is not None

    def _find(self, index: int, used: Used) -> bool:
        """Find a value for an item, along an augmenting path."""
        wanted: dict[Exact, int] = {}  # a value in use, and the item that would take it
        free: dict[Formula, Exact | None] = {}
        waiting = [index]
        for item in waiting:  # grows while it is read
            formula = self.items[item]
            if formula not in free:
                free[formula] = self._free(formula, used | self.owners.keys())
            own = free[formula]
            if own is not None:
                self._exchange(item, own, wanted, index)
                return True
            for value, owner in self.owners.items():
                if value not in wanted and self._word(among(formula, frozenset((value,)))):
                    wanted[value] = item
                    waiting.append(owner)
        return False

    def _free(self, formula: Formula, taken: Used) -> Exact | None:
        listed = self.ways.listed(formula)
        for value in listed:
            if value not in taken and self._word(among(formula, frozenset((value,)))):
                return value
        spend(_TAKEN * len(self.owners))
        word = None if listed else self._word(beside(formula, taken))
        return None if word is None else read_exact(word)

    def _exchange(self, item: int, value: Exact, wanted: dict[Exact, int], index: int) -> None:
        """Give an item a free value, its old value to the item that wants it, and so on."""
        while item != index:
            own = next(value for value, owner in self.owners.items() if owner == item)
            self.owners[value] = item
            value, item = own, wanted[own]
        self.owners[value] = item

    def _word(self, value: Formula) -> bytes | None:
        return self.least(self.ways.value(value))
