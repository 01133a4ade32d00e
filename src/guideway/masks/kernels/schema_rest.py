"""What else of a JSON Schema is a part: objects that are met within what others read.

What this module does not know: what parts are (`schema_parts`).
"""

from guideway.masks.kernels.schema_fields import leaf, part_field, part_of, set_field
from guideway.masks.kernels.schema_layout import (
    ANY_PART,
    ANYTHING,
    KEY_NODES,
    MEMBER,
    NOTHING,
    OF_ARRAY,
    PARTED,
    PARTS,
    REFERENCE,
    S_COUNT,
    S_ITEM,
    S_KIND,
    S_LOW,
    S_MEMBER,
    S_OPTIONS,
    S_TARGET,
    S_TYPES,
    V_PART,
    VALUE,
    VALUES,
)
from guideway.masks.kernels.schema_parts import read_part
from guideway.masks.kernels.schema_settling import finish_parts
from guideway.masks.kernels.schema_texts import first_byte
from guideway.masks.kernels.views import Context, inner, int32s, once

_OPEN_BRACE = 0x7B


@inner
def _leave(context: Context, part: int) -> None:
    """Leave a part to others, of which nothing else is known."""
    set_field(context, part, S_TYPES, ANYTHING)
    leaf(context, part)


@once
def _resolve_rest(context: Context, first: int) -> None:
    """Let references name what stands for itself; others read those that never do."""
    count = int(context[PARTS])
    for part in range(first, count):
        target, steps = part, 0
        while part_field(context, target, S_KIND) == REFERENCE and steps <= count:
            target, steps = part_field(context, target, S_TARGET), steps + 1
        if steps > count:
            _leave(context, part)
        elif target != part:
            set_field(context, part, S_TARGET, target)


@inner
def _is_nothing(context: Context, part: int) -> bool:
    """Whether a part allows nothing."""
    if part == ANY_PART:
        return False
    if part_field(context, part, S_KIND) == REFERENCE:
        part = part_field(context, part, S_TARGET)
    return part_field(context, part, S_KIND) == NOTHING


@inner
def _is_barred(context: Context, part: int) -> bool:
    """Whether objects or arrays of a PARTED part need what allows nothing: it is of others."""
    options, rows = part_field(context, part, S_OPTIONS), int32s(context, MEMBER)
    needed = options & OF_ARRAY != 0 and part_field(context, part, S_LOW) > 0
    if needed and _is_nothing(context, part_field(context, part, S_ITEM)):
        return True
    first = part_field(context, part, S_MEMBER)
    for row in range(first, first + part_field(context, part, S_COUNT)):
        if rows[row * 6 + 3] != 0 and _is_nothing(context, int(rows[row * 6 + 2])):
            return True
    return False


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
    All that are schemas have to have an instance; those of which a type has none are for others.
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
            _leave(context, part)
        part += 1
    _resolve_rest(context, first)
    for each in range(first, int(context[PARTS])):
        if part_field(context, each, S_KIND) == PARTED and _is_barred(context, each):
            _leave(context, each)
    finish_parts(context)
    return first
