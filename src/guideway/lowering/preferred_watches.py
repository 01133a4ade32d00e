"""Texts of which some ways through a pattern match no prefix, and lookahead languages from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from guideway.lowering.preferred_languages import ALL, NONE
from guideway.lowering.preferred_machine import History, Machine, Place, Thread
from guideway.lowering.preferred_steps import Ahead, Behind, Choice, Count, Program, Row, Step


@final
@dataclass(frozen=True, slots=True)
class Watch:
    """Ways that must not match, and the guard of texts that are still possible."""

    threads: tuple[Thread, ...]
    history: History
    guard: int


@final
class Watches:
    """Languages of what ways through a program match."""

    def __init__(self, program: Program) -> None:
        self.machine = Machine(program, self._ahead)
        self._languages = self.machine.languages
        self._known: dict[Watch, int] = {}
        self._aheads: dict[tuple[int, History], int] = {}
        self._asked = _asked(program)
        for step in program.steps:  # those without lookbehind, innermost first
            if isinstance(step, Ahead) and not self._asked[step.item]:
                self._ahead(step.item, ())

    def _ahead(self, item: int, history: History) -> int:
        """The texts that begin with a match of the item of an Ahead."""
        key = item, history[: self._asked[item]]
        if key not in self._aheads:
            self._aheads[key] = self.begun(item, key[1])
        return self._aheads[key]

    def begun(self, step: int, history: History, *, solid: bool = False) -> int:
        """The texts that begin with a match of a step; with `solid`, a nonempty one."""
        place = self.machine.unordered(step, history)
        start = Place(place.threads, place.history, ()) if solid else place
        (never,) = self.unmatched([self._on(start, ALL)])
        return self._languages.opposite(never)

    def unmatched(self, starts: Sequence[Watch]) -> Sequence[int]:
        """For each watch, the texts in its guard that have no match of its ways as a prefix."""
        self._known |= self._languages.found(starts, self._watched, self._holds, self._told)
        return [self._known[each] for each in starts]

    def _told(self, watch: Watch) -> int | None:
        """The known language of a watch; without threads, its guard."""
        return self._known.get(watch) if watch.threads else watch.guard

    def _holds(self, watch: Watch) -> bool:
        return self._languages.ends[watch.guard]

    def _watched(self, watch: Watch) -> Sequence[Watch]:
        """The watch after each atom."""
        places = self.machine.row(Place(watch.threads, watch.history, ()), ordered=False)
        guards = self._languages.rows[watch.guard]
        known: dict[tuple[int, int], Watch] = {}  # many atoms lead to the same
        found: list[Watch] = []
        for place, guard in zip(places, guards, strict=True):
            key = id(place), guard
            if key not in known:
                known[key] = self._on(place, guard)
            found.append(known[key])
        return found

    def _on(self, place: Place, guard: int) -> Watch:
        """The watch at a place: matches that end there leave the guard."""
        languages = self._languages
        for _, other in place.ends:
            guard = languages.both(guard, languages.opposite(other))
        return Watch((), (), NONE) if guard == NONE else Watch(place.threads, place.history, guard)


def _asked(program: Program) -> Sequence[int]:
    """For each step, how many of the first pasts it depends on."""
    found: list[int] = []
    for step in program.steps:  # parts come first
        asked = step.past + 1 if isinstance(step, Behind) else 0
        found.append(max((found[part] for part in _parts(step)), default=asked))
    return found


def _parts(step: Step) -> Sequence[int]:
    match step:
        case Row(items):
            return items
        case Choice(options):
            return options
        case Count(item) | Ahead(item):
            return (item,)
        case _:
            return ()
