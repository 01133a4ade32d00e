"""Array types of kernels, and decorators that declare kernel functions.

In kernels an array is the address of its first item. Whole arrays also have their length.
Annotations are the signature of a kernel: `int` is int64, and so on.
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
    """Declare a kernel function; see `statements`."""
    return cast("F", _declared(function, once=False))


def once(function: F) -> F:
    """Declare a kernel function with one caller, where it is always inlined."""
    return cast("F", _declared(function, once=True))


def _declared(function: Callable[..., Any], *, once: bool) -> Inner:
    hints = dict(cast("FunctionType", function).__annotations__)
    results = _KINDS[hints.pop("return")]
    return Inner(function, {name: _KINDS[hint][0] for name, hint in hints.items()}, results, once)


# Index of the lowest set bit of a word that is not 0.
lowest_bit: "Callable[[int], int]" = Word("lowest_bit")
# Number of set bits.
bit_count: "Callable[[Any], int]" = Word("bit_count")
# Earlier writes are visible to other threads before later ones.
fence: "Callable[[], None]" = Word("fence")


# Release the GIL, and acquire it again with the result of `release`. Small kernels keep it: once
# released, it comes back after up to five milliseconds.
release: "Callable[[], int]" = Word("release")
take_again: "Callable[[int], None]" = Word("take_again")

# The array at the address in a slot of the context.
int32s: "Callable[[Context, int], Ints]" = Word("int32s", "int32")
int64s: "Callable[[Context, int], Context]" = Word("int64s", "int64")
uint8s: "Callable[[Context, int], Bytes]" = Word("uint8s", "uint8")
uint16s: "Callable[[Context, int], Shorts]" = Word("uint16s", "uint16")
uint32s: "Callable[[Context, int], Words]" = Word("uint32s", "uint32")
uint64s: "Callable[[Context, int], Sets]" = Word("uint64s", "uint64")
