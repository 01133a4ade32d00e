"""The end of LIST as a sorted list of distinct numbers."""

from guideway.masks.kernels.record_layout import LIST, TOP
from guideway.masks.kernels.views import Context, inner, int64s


@inner
def sort_list(context: Context, first: int) -> None:
    """Sort the list from `first` on and drop duplicates (Shell 1959, gaps 1, 4, 13, …)."""
    listed, end = int64s(context, LIST), int(context[TOP])
    gap = 1
    while gap * 3 < end - first:
        gap = gap * 3 + 1
    while gap > 0:
        for index in range(first + gap, end):
            value, place = listed[index], index
            while place - gap >= first and listed[place - gap] > value:
                listed[place] = listed[place - gap]
                place -= gap
            listed[place] = value
        gap //= 3
    kept = first
    for index in range(first, end):
        if kept == first or listed[kept - 1] != listed[index]:
            listed[kept] = listed[index]
            kept += 1
    context[TOP] = kept


@inner
def is_among(context: Context, first: int, end: int, wanted: int) -> bool:
    """Return True if a number is in the sorted list [first, end)."""
    listed, low, high = int64s(context, LIST), first, end
    while low < high:
        middle = (low + high) >> 1
        if listed[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < end and listed[low] == wanted
