"""Work lists of a closure: configurations to expand, and those that read a byte."""

from guideway.masks.kernels.entry_layout import ENTRIES
from guideway.masks.kernels.guards import under_guards
from guideway.masks.kernels.intern import full
from guideway.masks.kernels.layout import (
    ACCEPT,
    DOUBTFUL,
    FOUND,
    FOUND_IS,
    GENERATION,
    GUARDING,
    OK,
    SCRATCH,
    TODO,
    V_ALIVE,
    V_UNKNOWN,
    VISITED,
    WORK_ROOM,
)
from guideway.masks.kernels.views import Context, inner, int64s, uint8s


@inner
def begin(context: Context) -> None:
    context[GENERATION] += 1
    context[FOUND] = 0
    context[TODO] = 0
    context[VISITED] = 0
    context[ACCEPT] = 0
    context[DOUBTFUL] = 0
    context[GUARDING] = 0
    context[ENTRIES] = 0


@inner
def push(context: Context, node: int, stack: int) -> int:
    """Put a configuration on the closure's work list."""
    if context[TODO] >= context[WORK_ROOM] or context[VISITED] >= context[WORK_ROOM]:
        return full(context, VISITED)
    if context[GUARDING] != 0:
        node = under_guards(context, node)
        if node < 0:
            return node
    int64s(context, SCRATCH)[context[WORK_ROOM] + context[TODO]] = (node << 32) | stack
    context[TODO] += 1
    return OK


@inner
def found(context: Context, node: int, stack: int) -> int:
    """Add a configuration that reads a byte."""
    if context[FOUND] >= context[WORK_ROOM]:
        return full(context, VISITED)
    if context[GUARDING] != 0:
        node = under_guards(context, node)
        if node < 0:
            return node
    int64s(context, SCRATCH)[context[FOUND]] = (node << 32) | stack
    uint8s(context, FOUND_IS)[context[FOUND]] = V_UNKNOWN
    context[FOUND] += 1
    return OK


@inner
def found_alive(context: Context, node: int, stack: int) -> int:
    code = found(context, node, stack)
    if code == OK:
        uint8s(context, FOUND_IS)[context[FOUND] - 1] = V_ALIVE
    return code
