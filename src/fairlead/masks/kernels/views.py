"""Arrays from the addresses in the context, as numba sees them."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

Context: TypeAlias = NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., Any])


def inner(function: F) -> F:
    """A function that only other kernels call; compiled into them."""
    return cast(
        "F",
        cast("Any", numba).njit(
            function,
            nogil=True,
            error_model="numpy",
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
        ),
    )


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """The address as a pointer."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), build


@inner
def int32s(context: Context, slot: int) -> NDArray[np.int32]:
    """The one-dimensional int32 array at a slot."""
    return numba.carray(_pointer(context[slot]), (1 << 40,), np.int32)


@inner
def int64s(context: Context, slot: int) -> NDArray[np.int64]:
    """The one-dimensional int64 array at a slot."""
    return numba.carray(_pointer(context[slot]), (1 << 40,), np.int64)


@inner
def uint8s(context: Context, slot: int) -> NDArray[np.uint8]:
    """The one-dimensional uint8 array at a slot."""
    return numba.carray(_pointer(context[slot]), (1 << 40,), np.uint8)


@inner
def uint16s(context: Context, slot: int) -> NDArray[np.uint16]:
    """The one-dimensional uint16 array at a slot."""
    return numba.carray(_pointer(context[slot]), (1 << 40,), np.uint16)


@inner
def uint32s(context: Context, slot: int) -> NDArray[np.uint32]:
    """The one-dimensional uint32 array at a slot."""
    return numba.carray(_pointer(context[slot]), (1 << 40,), np.uint32)


@inner
def uint64s(context: Context, slot: int) -> NDArray[np.uint64]:
    """The one-dimensional uint64 array at a slot."""
    return numba.carray(_pointer(context[slot]), (1 << 40,), np.uint64)
