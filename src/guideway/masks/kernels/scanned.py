"""What places of Lark's automaton come to: found once, and judged once, for each of its stacks.

A mask meets a place behind each of the many tokens that end there: for python.lark 1,700 closures
in a mask, of 160 configurations each, come to 130 places. New masks took 20 to 90 ms where nothing
was remembered, and take 4 to 14 ms.

A place is remembered under what is looked ahead for there. Where texts are captured none is.
"""

from typing import Final

from guideway.masks.kernels.guards import under_guards
from guideway.masks.kernels.intern import full, scan_of_place
from guideway.masks.kernels.layout import (
    ACCEPT,
    CAPTURES,
    DOUBTFUL,
    FOUND,
    FOUND_IS,
    JUDGING,
    OK,
    OPEN_SCANS,
    SCAN_ACCEPT,
    SCAN_FLOOR,
    SCAN_LIST,
    SCAN_LIST_ROOM,
    SCAN_LISTED,
    SCAN_PARTLY,
    SCAN_ROOM,
    SCANNED_AT,
    SCANNED_HASH,
    SCANNING,
    SCANS,
    SCRATCH,
    TODO,
    V_ALIVE,
    V_DEAD,
    VISITED,
    WORK_ROOM,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s, uint8s

LOADED: Final = 1  # all that a place comes to has been found
# What else there is to say of a place:
_UNKNOWN: Final = 0  # nothing yet;
_KNOWN: Final = 1  # what it comes to is in SCAN_LIST,
_ENDS: Final = 2  # and the text may end
_MOST: Final = 1 << 19  # configurations, behind which no more room is made: all are forgotten


@inner
def enter_scan(context: Context, node: int, stack: int) -> int:
    """Find all that a place comes to, if that is remembered: LOADED, OK if not, or a code below 0.

    If not, the closure is in that place from now on.
    """
    if context[SCANNING] != 0 or context[CAPTURES] != 0:
        return OK
    node = under_guards(context, node)
    scan = scan_of_place(context, node, stack) if node >= 0 else node
    if scan < 0:
        return scan
    places, closed = int32s(context, SCANNED_AT), int64s(context, SCAN_LIST)
    if places[scan * 4 + 2] == _UNKNOWN and context[JUDGING] != 0:
        return OK  # the closure that is judged may be about to remember it
    if places[scan * 4 + 2] == _UNKNOWN:
        context[SCANNING], context[SCAN_FLOOR], context[SCAN_PARTLY] = scan, context[TODO], 0
        context[SCAN_ACCEPT], context[ACCEPT] = context[ACCEPT], 0
        places[scan * 4] = context[FOUND]
        return OK
    if places[scan * 4 + 2] & _ENDS:
        context[ACCEPT] = 1
    if context[FOUND] + places[scan * 4 + 1] > context[WORK_ROOM]:
        return full(context, VISITED)
    marks, found = uint8s(context, FOUND_IS), int64s(context, SCRATCH)
    for index in range(places[scan * 4], places[scan * 4] + places[scan * 4 + 1]):
        found[context[FOUND]], marks[context[FOUND]] = closed[index], V_ALIVE
        context[FOUND] += 1
    return LOADED


@inner
def leave_scan(context: Context) -> None:
    """Where nothing is left to do of the place that the closure is in, it is in none."""
    if context[SCANNING] == 0 or context[TODO] > context[SCAN_FLOOR]:
        return
    places, scan = int32s(context, SCANNED_AT), context[SCANNING]
    if context[SCAN_PARTLY] == 0:
        places[scan * 4 + 1] = context[FOUND] - places[scan * 4]
        places[scan * 4 + 3] = context[OPEN_SCANS] * 2 + context[ACCEPT]
        context[OPEN_SCANS] = scan
    context[SCANNING] = 0
    context[ACCEPT] |= context[SCAN_ACCEPT]


@inner
def remember_scans(context: Context) -> int:
    """Remember what is alive of what places have come to; OK, or FULL."""
    places, scan = int32s(context, SCANNED_AT), int(context[OPEN_SCANS])
    context[OPEN_SCANS] = 0
    while scan != 0 and context[DOUBTFUL] == 0:
        if context[SCAN_LISTED] + places[scan * 4 + 1] > context[SCAN_LIST_ROOM]:
            if context[SCAN_LISTED] < _MOST:
                return full(context, SCAN_LISTED)
            _forget_scans(context)
            return OK
        _remember(context, scan)
        scan = int(places[scan * 4 + 3] >> 1)
    return OK


@inner
def _remember(context: Context, scan: int) -> None:
    places, marks, closed = (
        int32s(context, SCANNED_AT),
        uint8s(context, FOUND_IS),
        int64s(context, SCAN_LIST),
    )
    first, at = int(places[scan * 4]), int(context[SCAN_LISTED])
    for index in range(first, first + places[scan * 4 + 1]):
        if marks[index] != V_DEAD:
            closed[at] = int64s(context, SCRATCH)[index]
            at += 1
    places[scan * 4], places[scan * 4 + 1] = context[SCAN_LISTED], at - context[SCAN_LISTED]
    places[scan * 4 + 2] = _KNOWN + _ENDS * (places[scan * 4 + 3] & 1)
    context[SCAN_LISTED] = at


@inner
def _forget_scans(context: Context) -> None:
    """All of them."""
    places, hashes = int32s(context, SCANNED_AT), int32s(context, SCANNED_HASH)
    for place in range(2 * context[SCAN_ROOM]):
        hashes[place] = 0
    for scan in range(context[SCANS]):
        places[scan * 4 + 2] = _UNKNOWN
    context[SCANS], context[SCAN_LISTED] = 1, 0
