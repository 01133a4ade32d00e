"""Records as counts: item and bounds; a record that repeats nothing counts itself once."""

from guideway.masks.kernels.record_layout import ALT, EPSILON, KIND, PART, REPEAT, A, B, C
from guideway.masks.kernels.records import field
from guideway.masks.kernels.views import Context, inner, int32s


@inner
def item_of(context: Context, record: int) -> int:
    """The repeated item, or the record itself. x? counts x."""
    kind = field(context, record, KIND)
    if kind == REPEAT:
        return field(context, record, A)
    if kind == ALT and field(context, record, B) == 2:
        parts, at = int32s(context, PART), field(context, record, A)
        if parts[at] == EPSILON:
            return int(parts[at + 1])
    return record


@inner
def low_of(context: Context, record: int) -> int:
    if field(context, record, KIND) == REPEAT:
        return field(context, record, B)
    return 1 if item_of(context, record) == record else 0


@inner
def high_of(context: Context, record: int) -> int:
    """The greatest count, -1 if unbounded."""
    return field(context, record, C) if field(context, record, KIND) == REPEAT else 1
