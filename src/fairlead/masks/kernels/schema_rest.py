"""What else of a JSON Schema is a part: objects that are met within what others read.

What this module does not know: what parts are (`schema_parts`).
"""

from fairlead.masks.kernels.schema_fields import leaf, part_field, part_of, set_field
from fairlead.masks.kernels.schema_layout import (
    KEY_NODES,
    PARTS,
    REFERENCE,
    S_KIND,
    S_TARGET,
    V_PART,
    VALUE,
    VALUES,
)
from fairlead.masks.kernels.schema_parts import read_part
from fairlead.masks.kernels.schema_settling import finish_parts
from fairlead.masks.kernels.schema_texts import first_byte
from fairlead.masks.kernels.views import Context, inner, int32s, once

_OPEN_BRACE = 0x7B


@once
def _resolve_rest(context: Context, first: int) -> None:
    """Let references name what stands for itself; others read those that never do."""
    count = int(context[PARTS])
    for part in range(first, count):
        target, steps = part, 0
        while part_field(context, target, S_KIND) == REFERENCE and steps <= count:
            target, steps = part_field(context, target, S_TARGET), steps + 1
        if steps > count:
            leaf(context, part)
        elif target != part:
            set_field(context, part, S_TARGET, target)


@inner
def _forget(context: Context) -> None:
    """Forget all parts, but for the values."""
    rows = int32s(context, VALUE)
    for value in range(int(context[VALUES])):
        rows[value * 4 + V_PART] = 0
    for slot in range(PARTS, KEY_NODES + 1):
        context[slot] = 0


@once
def read_rest(context: Context, anew: bool) -> int:
    """Make parts of all other objects of a schema, if only leaves; gives how many were read before.

    They are met within what others read, or, if it is read `anew`, the first is the schema itself.
    All that are schemas have to have an instance.
    """
    if anew:
        _forget(context)
        part_of(context, 0)
    first = 0 if anew else int(context[PARTS])
    for value in range(int(context[VALUES])):
        if first_byte(context, value) == _OPEN_BRACE:
            part_of(context, value)
    part = first
    while part < context[PARTS]:
        if read_part(context, part) < 0:
            leaf(context, part)
        part += 1
    _resolve_rest(context, first)
    finish_parts(context)
    return first
