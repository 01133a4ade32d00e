"""Steps of an array, item by item, and the nearest end."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol, TypeAlias, final

from guideway.errors import LimitError
from guideway.lowering.fuel import paying, spend
from guideway.lowering.json_atoms import Among, Item
from guideway.lowering.json_formulas import FALSE, Formula, all_of, atoms, holds, leaf, opposite
from guideway.lowering.json_items_read import Twice, holds_at_end, reach, read_item
from guideway.lowering.json_progress import Judge, Progress
from guideway.lowering.json_values import Exact, read_exact
from guideway.lowering.nodes import Expr, Least
from guideway.syntax.frozen import by_value

Used: TypeAlias = "frozenset[Exact | None]"
MOST_LOOKED_AT = 15_000  # tries, of .12 ms each
_NONE: Used = frozenset()


class ItemJudge(Judge, Protocol):
    """A `Judge` that also lists items."""

    def listed(self, value: Formula) -> list[Exact]:
        """The only scalars that an item can be; [] if that is not plain."""
        ...


@final
@by_value
class Rest:
    """The state after an item or, at position -1, before the array."""

    position: int
    used: Used
    said: Formula
    twice: Twice = None


@final
@by_value
class Step:
    """Condition on the next item, and the formula after it."""

    position: int
    said: Formula
    value: Formula


@final
class Ways:
    """Steps from each position of an array with the formula `said`."""

    def __init__(self, said: Formula, value: Callable[[Formula], Expr], judge: ItemJudge) -> None:
        self.value = value
        self._last = max((reach(atom) for atom in atoms(said)), default=0)
        self.single = max((reach(a) for a in atoms(said) if isinstance(a, Item)), default=0)
        self._judge = judge
        self._listed: dict[Formula, list[Exact]] = {}
        self._progress: dict[int, Progress] = {}

    def steps(self, rest: Rest) -> list[Step]:
        """The alternative steps from here."""
        position = max(rest.position, 0)
        progress = self._progress.get(position)
        if progress is None:
            progress = Progress(lambda atom: read_item(atom, position), self._judge)
            self._progress[position] = progress
        found = progress.pairs(rest.said)
        behind = min(position + 1, self._last)
        return [Step(behind, said, value) for said, value in found.items()]

    def listed(self, value: Formula) -> list[Exact]:
        found = self._listed.get(value)
        if found is None:
            found = self._listed[value] = self._judge.listed(value)
        return found

    def may_close(self, said: Formula) -> bool:
        """Return True if the formula holds without further items."""
        return holds(said, holds_at_end)

    def ends(self, rest: Rest) -> bool:
        """Return True if the array may end here, repeated values included."""
        return rest.twice is not True and self.may_close(rest.said)

    def nearest(self, start: Rest, least: Least) -> list[bytes] | None:
        """A short completion, found greedily; None does not mean that there is none."""
        serial = 0
        queue: list[tuple[int, list[bytes], int, Rest]] = [(0, [], serial, start)]
        seen: set[Rest] = set()
        while queue:
            length, words, _, rest = heappop(queue)
            if self.ends(rest):
                return words
            if rest in seen:
                continue
            seen.add(rest)
            for step in self.steps(rest):
                for value, follow in self._greedy(rest, step):
                    word = least(self.value(value))
                    if word is not None:
                        serial += 1
                        entry = (length + len(word) + 1, [*words, word], serial, follow(word))
                        heappush(queue, entry)
            pay(serial)
        return None

    def _greedy(self, rest: Rest, step: Step) -> "list[tuple[Formula, Callable[[bytes], Rest]]]":
        stays = step.said is rest.said and step.position == rest.position
        if rest.twice is None:
            plain = Rest(step.position, _NONE, step.said)
            return [] if stays else [(step.value, lambda word: plain)]

        def another(word: bytes) -> Rest:
            return Rest(step.position, rest.used | {read_exact(word)}, step.said, rest.twice)

        found = [(beside(step.value, rest.used), another)]
        if rest.twice is True:
            behind = Rest(step.position, _NONE, step.said)
            return [(among(step.value, rest.used), lambda word: behind), *found]
        return [] if stays else found


def among(value: Formula, values: Used) -> Formula:
    """A value that satisfies a formula and is one of `values`."""
    used = known(values)
    return all_of(value, leaf(Among(used))) if used else FALSE


def beside(value: Formula, values: Used) -> Formula:
    """A value that satisfies a formula and is none of `values`."""
    used = known(values)
    return all_of(value, opposite(leaf(Among(used)))) if used else value


def known(values: Used) -> frozenset[Exact]:
    return frozenset(value for value in values if value is not None)


def pay(tries: int) -> None:
    """Count one more try; while compiling, raise LimitError beyond `MOST_LOOKED_AT`."""
    spend(1)
    if tries > MOST_LOOKED_AT and paying():
        raise LimitError(
            f"the search for a valid array takes more than {MOST_LOOKED_AT} tries",
            limit="tries",
            given=MOST_LOOKED_AT,
        )
