"""Captures that a state is reading, and the state without the bytes that they read."""

from typing import Final, final

from guideway.lowering.aheads import looking, parts
from guideway.lowering.expr import EPSILON, alt, capture, concat
from guideway.lowering.nodes import (
    Ahead,
    Alt,
    Call,
    Capture,
    Concat,
    Expr,
    Repeat,
    Unsure,
)

CERTAIN, VAGUE, UNTOLD = range(3)
_MOST_KNOWN: Final = 1 << 14  # expressions, before all are dropped


def options_of(state: Expr) -> list[Expr]:
    """Alternatives of a state, split so that each open capture is the head of its own."""
    found: list[Expr] = []
    todo = [state]
    while todo:
        option = todo.pop()
        leads, core = looking(option)
        head, tail = parts(core)
        if isinstance(head, Alt) and (head is option or head.captures):
            todo.extend(concat(*leads, one, tail) for one in reversed(head.options))
        else:
            found.append(option)
    return found


def head_of(option: Expr) -> Expr:
    return parts(looking(option)[1])[0]


def known_capture(option: Expr) -> Capture | None:
    """The capture that `option` is reading, if its bytes are known."""
    head = head_of(option)
    return head if isinstance(head, Capture) and head.read is not None else None


def has_read(state: Expr) -> bool:
    """Return True if no capture is being read."""
    known = (known_capture(option) for option in options_of(state))
    return all(one is None or one.item is EPSILON for one in known)


def read_items(state: Expr) -> list[Expr]:
    """Items of open captures that may contain captures themselves."""
    known = (known_capture(option) for option in options_of(state))
    return [one.item for one in known if one is not None and not one.item.regular]


def forgotten(state: Expr) -> Expr:
    """A state without the bytes that its captures have read."""
    made: dict[Expr, Expr] = {}
    stack = [state]
    while stack:
        node = stack[-1]
        inner = [item for item in read_items(node) if item not in made]
        if inner:
            stack.extend(inner)
            continue
        options = options_of(stack.pop())
        known = any(known_capture(option) for option in options)
        made[node] = alt(*(_forgotten(option, made) for option in options)) if known else node
    return made[state]


def _forgotten(option: Expr, inner: dict[Expr, Expr]) -> Expr:
    """An alternative without the bytes of its capture and of captures inside."""
    known = known_capture(option)
    if known is None:
        return option
    item = inner.get(known.item, known.item)
    leads, rest = looking(option)
    blurred = capture(item, None, known.template, known.argument)
    return concat(*leads, blurred, parts(rest)[1])


@final
class Doubts:
    """How states depend on the unknown bytes of captures; cached."""

    def __init__(self) -> None:
        self._certain: set[Expr] = set()

    def of(self, state: Expr) -> int:
        """Return how a state depends on those bytes.

        CERTAIN: not at all. VAGUE: its shortest length depends on them. UNTOLD: its emptiness does.
        """
        todo, seen, found = [state], set[Expr](), CERTAIN
        while todo:
            node = todo.pop()
            if node.regular or node in seen or node in self._certain:
                continue
            if isinstance(node, Unsure):
                return UNTOLD
            seen.add(node)
            found = VAGUE if _is_vague(node) else found
            todo += _inside(node)
        if len(self._certain) > _MOST_KNOWN:
            self._certain.clear()
        if found == CERTAIN:
            self._certain |= seen
        return found


def _is_vague(node: Expr) -> bool:
    """Return True if the shortest length after a node depends on unknown captured bytes.

    Most objects do not: treating each possible key as vague made a step near the end of a budget
    try 512 tokens.
    """
    match node:
        case Call(template, argument):
            return not template.remembers(argument) and template.depends(argument)
        case Capture(_, None, template, argument):
            return template.depends(argument)
        case _:
            return False


def _inside(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Concat(head, tail):
            return head, tail
        case Alt(options):
            return options
        case Repeat(item) | Ahead(item) | Capture(item):
            return (item,)
        case _:
            return ()
