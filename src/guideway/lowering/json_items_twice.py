"""Arrays in which some value must repeat: can they end, and which value may repeat?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from guideway.lowering.json_formulas import FALSE, Formula, all_of, any_of
from guideway.lowering.json_items_ways import Rest, Ways, among, pay
from guideway.lowering.nodes import Expr


@final
@dataclass(frozen=True, slots=True)
class _Ahead:
    """A rest, and the condition on the value that repeats; None if it has not come."""

    rest: Rest
    again: Formula | None = None


def can_end(ways: Ways, start: Rest, look: "Callable[[Expr], bool | None]") -> bool | None:
    """Return True if some items complete the array; None if that is not known yet."""
    stack: list[tuple[_Ahead, Formula | None]] = [(_Ahead(start), None)]
    seen: set[_Ahead] = set()
    while stack:
        ahead, value = stack.pop()
        found = True if value is None else look(ways.value(value))
        if found is None:
            return None
        if not found or ahead in seen:
            continue
        if ways.ends(ahead.rest):
            return True
        seen.add(ahead)
        stack += reversed(_following(ways, ahead))
        pay(len(seen))
    return False


def _following(ways: Ways, ahead: _Ahead) -> list[tuple[_Ahead, Formula | None]]:
    rest, found = ahead.rest, list[tuple[_Ahead, Formula | None]]()
    for step in ways.steps(rest):
        plain = Rest(step.position, frozenset(), step.said)
        if rest.twice is None:
            found.append((_Ahead(plain), step.value))
            continue
        waiting = Rest(step.position, rest.used, step.said, True)
        found.append((_Ahead(plain), among(step.value, rest.used)))
        if ahead.again is None:
            found.append((_Ahead(waiting, step.value), step.value))
        else:
            found.append((_Ahead(plain), all_of(step.value, ahead.again)))
        found.append((_Ahead(waiting, ahead.again), step.value))
    return found


def repeatable(ways: Ways, start: Rest, look: "Callable[[Expr], bool | None]") -> Formula:
    """The formula of values that may come and repeat from here on."""
    found: Formula = FALSE
    todo, seen = [start], {start}
    while todo:
        rest = todo.pop()
        for step in ways.steps(rest):
            if not look(ways.value(step.value)):
                continue
            if can_end(ways, Rest(step.position, frozenset(), step.said), look):
                found = any_of(found, step.value)
            behind = Rest(step.position, rest.used, step.said, True)
            if behind not in seen:
                seen.add(behind)
                todo.append(behind)
        pay(len(seen))
    return found
