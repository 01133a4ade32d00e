"""Which parts of a JSON Schema have an instance, and which stand for themselves, once all are read.

What this module does not know: how they are read.
"""

from guideway.masks.kernels.schema_fields import ask, part_field, set_field
from guideway.masks.kernels.schema_layout import (
    ANY_PART,
    ANYTHING,
    ARRAY,
    ASK,
    ASKED,
    GROUP,
    INTEGER,
    LEAF,
    MEMBER,
    NOT_PLAIN,
    NUMBER,
    OBJECT,
    OF_ARRAY,
    OF_OBJECT,
    PARTED,
    PARTS,
    PLAIN,
    REFERENCE,
    S_COUNT,
    S_HIGH,
    S_ITEM,
    S_KIND,
    S_LAID,
    S_LOW,
    S_MEMBER,
    S_OPTIONS,
    S_SURE,
    S_TARGET,
    S_TYPES,
    S_VALUE,
    V_BEGIN,
    V_END,
)
from guideway.masks.kernels.schema_texts import value_field
from guideway.masks.kernels.views import Context, inner, int32s, once


@once
def _resolve(context: Context) -> int:
    """Let references name what stands for itself; NOT_PLAIN if one only stands for itself."""
    count = int(context[PARTS])
    for part in range(count):
        target, steps = part, 0
        while part_field(context, target, S_KIND) == REFERENCE:
            target, steps = part_field(context, target, S_TARGET), steps + 1
            if steps > count:
                return NOT_PLAIN
        if target != part:
            set_field(context, part, S_TARGET, target)
    return PLAIN


@inner
def is_sure(context: Context, part: int) -> bool:
    """Whether a part is known to have an instance."""
    if part == ANY_PART:
        return True
    if part_field(context, part, S_KIND) == REFERENCE:
        part = part_field(context, part, S_TARGET)
    return part_field(context, part, S_SURE) != 0


@inner
def _has_instance(context: Context, part: int) -> bool:
    """Whether an object and an array of a PARTED one have an instance, as far as is known."""
    options, rows = part_field(context, part, S_OPTIONS), int32s(context, MEMBER)
    needed = options & OF_ARRAY != 0 and part_field(context, part, S_LOW) > 0
    if needed and not is_sure(context, part_field(context, part, S_ITEM)):
        return False
    first = part_field(context, part, S_MEMBER)
    for row in range(first, first + part_field(context, part, S_COUNT)):
        if rows[row * 6 + 3] != 0 and not is_sure(context, int(rows[row * 6 + 2])):
            return False
    return True


@inner
def _sure_options(context: Context, part: int) -> int:
    """How many options of a GROUP have an instance, as far as is known."""
    rows, first, found = int32s(context, MEMBER), part_field(context, part, S_MEMBER), 0
    for row in range(first, first + part_field(context, part, S_COUNT)):
        found += 1 if is_sure(context, int(rows[row * 6 + 2])) else 0
    return found


@inner
def _judged(context: Context, part: int) -> bool:
    """Whether a part has an instance, as far as is known."""
    if part_field(context, part, S_KIND) == GROUP:
        return _sure_options(context, part) > 0
    return _has_instance(context, part)


@inner
def _is_option(context: Context, part: int) -> bool:
    """Whether a part stands for itself, or for others that are known to do so."""
    if part_field(context, part, S_KIND) == REFERENCE:
        part = part_field(context, part, S_TARGET)
    return part_field(context, part, S_KIND) != GROUP or part_field(context, part, S_LAID) != 0


@inner
def _stands(context: Context, part: int) -> bool:
    """Whether all options of a GROUP stand for themselves, as far as is known."""
    rows, first = int32s(context, MEMBER), part_field(context, part, S_MEMBER)
    for row in range(first, first + part_field(context, part, S_COUNT)):
        if not _is_option(context, int(rows[row * 6 + 2])):
            return False
    return True


@once
def _stand(context: Context) -> int:
    """NOT_PLAIN if a GROUP stands for itself; S_LAID is not needed before all is read."""
    changed, left = True, 0
    while changed:
        changed, left = False, 0
        for part in range(int(context[PARTS]) - 1, -1, -1):
            group = part_field(context, part, S_KIND) == GROUP
            if group and part_field(context, part, S_LAID) == 0:
                if _stands(context, part):
                    set_field(context, part, S_LAID, 1)
                    changed = True
                else:
                    left += 1
    for part in range(int(context[PARTS])):
        set_field(context, part, S_LAID, 0)
    return PLAIN if left == 0 else NOT_PLAIN


@inner
def _spread(context: Context) -> int:
    """Find out which parts have an instance as others have one; gives how many are left.

    A part mostly stands before those that it holds, so that one round, backwards, is enough.
    """
    changed, unsure = True, 0
    while changed:
        changed, unsure = False, 0
        for part in range(int(context[PARTS]) - 1, -1, -1):
            kind = part_field(context, part, S_KIND)
            if kind in (PARTED, GROUP) and part_field(context, part, S_SURE) == 0:
                if _judged(context, part):
                    set_field(context, part, S_SURE, 1)
                    changed = True
                else:
                    unsure += 1
    return unsure


@once
def _settle(context: Context) -> int:
    """Find out which parts have an instance; NOT_PLAIN if not all surely have one."""
    unsure = _spread(context)
    for part in range(int(context[PARTS])):
        group = part_field(context, part, S_KIND) == GROUP
        if group and _sure_options(context, part) < part_field(context, part, S_COUNT):
            unsure += 1
    return PLAIN if unsure == 0 else NOT_PLAIN


@once
def ask_dependents(context: Context) -> None:
    """Ask for parts, too, that have an instance only if those have one that others judge."""
    asks = int32s(context, ASK)
    for part in range(int(context[PARTS])):
        if part_field(context, part, S_KIND) in (PARTED, GROUP):
            set_field(context, part, S_SURE, 0)
    for place in range(int(context[ASKED])):
        set_field(context, int(asks[place]), S_SURE, 0)
    if _spread(context) > 0:
        for part in range(int(context[PARTS])):
            parted = part_field(context, part, S_KIND) in (PARTED, GROUP)
            if parted and part_field(context, part, S_SURE) == 0:
                asks[context[ASKED]] = part
                context[ASKED] += 1


@inner
def _possible(context: Context, part: int) -> int:
    """The types that the values of a part may have."""
    if part_field(context, part, S_KIND) == REFERENCE:
        part = part_field(context, part, S_TARGET)
    kind, types = part_field(context, part, S_KIND), part_field(context, part, S_TYPES)
    if kind == GROUP:
        return ANYTHING
    if kind == PARTED:
        options = part_field(context, part, S_OPTIONS)
        types |= (OBJECT if options & OF_OBJECT else 0) | (ARRAY if options & OF_ARRAY else 0)
    return types | NUMBER if types & INTEGER != 0 else types


@inner
def _exclude(context: Context, part: int) -> bool:
    """Whether the parts of a GROUP have no type in common."""
    rows, first, found = int32s(context, MEMBER), part_field(context, part, S_MEMBER), 0
    for row in range(first, first + part_field(context, part, S_COUNT)):
        types = _possible(context, int(rows[row * 6 + 2]))
        if types & found != 0:
            return False
        found |= types
    return True


@once
def finish_parts(context: Context) -> None:
    """Leave those GROUPs to others that would need a search, and say where each LEAF is."""
    for part in range(int(context[PARTS])):
        group = part_field(context, part, S_KIND) == GROUP
        if group and part_field(context, part, S_OPTIONS) != 0 and not _exclude(context, part):
            ask(context, part, ANYTHING)
        if part_field(context, part, S_KIND) == LEAF:
            value = part_field(context, part, S_VALUE)
            set_field(context, part, S_LOW, value_field(context, value, V_BEGIN))
            set_field(context, part, S_HIGH, value_field(context, value, V_END))


@once
def settle(context: Context) -> int:
    """Find out what is known of the parts that were read; NOT_PLAIN if others have to read all."""
    if _resolve(context) < 0 or _stand(context) < 0 or _settle(context) < 0:
        return NOT_PLAIN
    finish_parts(context)
    return PLAIN
