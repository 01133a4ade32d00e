"""Arrays as kernels see them, and how inner kernels are declared.

Within kernels an array is the address of its first item: that of an array of Python's, or one from
the context. Only where a length is looked at do annotations say Whole.

The annotations of a kernel are its only signature: `int` is int64, and so on.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Annotated, Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from guideway.masks.kernels.declarations import Inner, Word

Context: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint32]
Ints: TypeAlias = NDArray[np.int32]
Sets: TypeAlias = NDArray[np.uint64]
Shorts: TypeAlias = NDArray[np.uint16]
Bytes: TypeAlias = NDArray[np.uint8]
WholeInts: TypeAlias = Annotated[Ints, "with its length"]
WholeWords: TypeAlias = Annotated[Words, "with its length"]
WholeNumbers: TypeAlias = Annotated[Context, "with its length"]
F = TypeVar("F", bound=Callable[..., Any])
_KINDS: "dict[Any, tuple[str, ...]]" = {
    int: ("int64",),
    bool: ("bool",),
    None: (),
    tuple[int, int]: ("int64",) * 2,
    tuple[int, int, int, int]: ("int64",) * 4,
    Context: ("int64*",),
    Words: ("uint32*",),
    Ints: ("int32*",),
    Sets: ("uint64*",),
    Shorts: ("uint16*",),
    Bytes: ("uint8*",),
    WholeInts: ("int32[]",),
    WholeWords: ("uint32[]",),
    WholeNumbers: ("int64[]",),
}


def inner(function: F) -> F:
    """A function of kernels; see `statements`."""
    return cast("F", _declared(function, once=False))


def once(function: F) -> F:
    """A function that is called in one place, where LLVM always puts it."""
    return cast("F", _declared(function, once=True))


def _declared(function: Callable[..., Any], *, once: bool) -> Inner:
    hints = dict(cast("FunctionType", function).__annotations__)
    results = _KINDS[hints.pop("return")]
    return Inner(function, {name: _KINDS[hint][0] for name, hint in hints.items()}, results, once)


# The place of the lowest bit of a word that has one.
lowest_bit: "Callable[[int], int]" = Word("lowest_bit")
# How many bits of a word are set.
bit_count: "Callable[[Any], int]" = Word("bit_count")
# All that was written before is seen by other threads before what is written after.
fence: "Callable[[], None]" = Word("fence")


# Let other threads of Python run, and wait for its lock again with what `release` gave. Small
# kernels keep the lock: handed over, it comes back after up to five milliseconds.
release: "Callable[[], int]" = Word("release")
take_again: "Callable[[int], None]" = Word("take_again")

# The array whose address is in a slot of the context.
int32s: "Callable[[Context, int], Ints]" = Word("int32s", "int32")
int64s: "Callable[[Context, int], Context]" = Word("int64s", "int64")
uint8s: "Callable[[Context, int], Bytes]" = Word("uint8s", "uint8")
uint16s: "Callable[[Context, int], Shorts]" = Word("uint16s", "uint16")
uint32s: "Callable[[Context, int], Words]" = Word("uint32s", "uint32")
uint64s: "Callable[[Context, int], Sets]" = Word("uint64s", "uint64")
