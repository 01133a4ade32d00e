"""Distinct array items that are objects or arrays: a MARK below the item, its text in the state.

As lexical states of captures they are slow (sourcemap-v3: masks of 0.04 s, 1 s before keys). At a
MARK the last value is found by scanning the text backwards. Masks do not use the text, so what
follows a MARK is partly unsure.
"""

import re
from typing import Final, final

from guideway.lowering.json_items import ItemsTemplate
from guideway.lowering.nodes import Capture
from guideway.masks.arena import Arena
from guideway.masks.forest import Row
from guideway.masks.kernels import layout as at

_KEPT: Final = 1024  # masks before the cache is cleared
_STEPS: Final = re.compile(rb'[]{}[]|(\\*)"')
_SCALAR: Final = re.compile(rb"[-+.0-9A-Za-z]*\Z")


@final
class Marks:
    """The MARK nodes of one network; `masks` has sure and unsure tokens by macro state."""

    def __init__(self, arena: Arena) -> None:
        self._arena, self.any = arena, bool(arena.context[at.MARKS])
        self._within: dict[int, bool] = {}
        self._outside = {0}  # stacks without a MARK
        self.masks: dict[int, tuple[Row, list[int]]] = {}

    def make(self, item: int, number: int) -> int:
        """Node of an item that is captured for the template and argument of that number."""
        self._arena.context[at.CAPTURES] = self._arena.context[at.MARKS] = self.any = True
        return self._arena.make(at.SEQUENCE, item, self._arena.make(at.MARK, number))

    def key(self, macro: int) -> int:
        """A macro state; within an item, the text of READ's target is in the upper half."""
        if not self._is_within(macro):
            return macro
        return int(self._arena.context[at.AFTER_TEXT]) << 32 | macro

    def kept(self, macro: int, row: Row, unsure: list[int]) -> tuple[Row, list[int], bool]:
        """A mask that its caller must not cache; within items it is kept here for the next text."""
        if self.any and self._is_within(macro):
            if len(self.masks) >= _KEPT:
                self.masks.clear()
            self.masks[macro] = row, unsure
        return row, unsure, False

    def _is_within(self, macro: int) -> bool:
        found = self._within.get(macro)
        if found is None:
            found = self._within[macro] = self._finds(self._arena.stacks(macro))
        return found

    def _finds(self, todo: list[int]) -> bool:
        arena, seen = self._arena, set[int]()
        while todo:
            stack = todo.pop()
            if stack in seen or stack in self._outside:
                continue
            seen.add(stack)
            node, below = arena.pop(stack)
            kind, *fields = arena.record(node)
            while kind == at.FORKED:
                todo.append(fields[0])
                kind, *fields = arena.record(fields[1])
            if kind == at.MARK:
                return True
            todo.append(below)
        self._outside |= seen
        return False


def is_marked(capture: Capture) -> bool:
    return isinstance(capture.template, ItemsTemplate) and not capture.item.regular


def last_value(text: bytes) -> bytes:
    r"""The JSON value that has just ended, found from quotes and brackets backwards.

    >>> last_value(b'[{"a": "}"}, {"b": ["\\\\"]}')
    b'{"b": ["\\\\"]}'
    >>> last_value(b"[1, -25")
    b'-25'
    """
    scalar = _SCALAR.search(text)
    if scalar is not None and scalar[0]:
        return scalar[0]
    depth, inside, begin = 0, False, 0
    for step in reversed([*_STEPS.finditer(text)]):
        begin = step.end() - 1
        if step[0][-1:] == b'"':
            inside ^= len(step[1]) % 2 == 0
        elif not inside:
            depth += 1 if step[0] in b"]}" else -1
        if depth == 0 and not inside:
            break
    return text[begin:]
