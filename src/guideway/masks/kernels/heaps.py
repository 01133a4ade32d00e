"""A binary heap at the end of LIST, for best-first search (Williams 1964)."""

from guideway.masks.kernels.record_layout import LIST, TOP, WANT
from guideway.masks.kernels.records import push
from guideway.masks.kernels.views import Context, inner, int64s


@inner
def nearest(context: Context, base: int) -> int:
    """Pop the low half of the least number of the heap from `base` on."""
    heap = int64s(context, LIST)
    least = int(heap[base] & 0xFFFFFFFF)
    context[TOP] -= 1
    count = context[TOP] - base
    value, place = heap[context[TOP]], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[base + child + 1] < heap[base + child]:
            child += 1
        if heap[base + child] >= value:
            break
        heap[base + place] = heap[base + child]
        place = child
    heap[base + place] = value
    return least


@inner
def put_in_order(context: Context, base: int, value: int) -> None:
    """Push a number on the heap from `base` on."""
    push(context, value)
    heap, place = int64s(context, LIST), context[TOP] - base - 1
    if context[WANT]:
        return
    while place > 0 and heap[base + (place - 1) // 2] > value:
        heap[base + place] = heap[base + (place - 1) // 2]
        place = (place - 1) // 2
    heap[base + place] = value
