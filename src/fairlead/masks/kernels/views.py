"""Arrays from the addresses in the context, as numba sees them; and how inner kernels are declared.

The annotations of a kernel are its only signature: `int` is int64, arrays are contiguous. Without
that, numba would compile a function anew for each mixture of narrow and wide integers it is called
with, which took four times as long.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import cgutils, dispatcher
from numba.core import types as numba_types
from numba.extending import intrinsic as numba_intrinsic
from numpy.typing import NDArray

Context: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint32]
Ints: TypeAlias = NDArray[np.int32]
Sets: TypeAlias = NDArray[np.uint64]
Shorts: TypeAlias = NDArray[np.uint16]
Bytes: TypeAlias = NDArray[np.uint8]
F = TypeVar("F", bound=Callable[..., Any])

_numba, types, intrinsic = (cast("Any", part) for part in (numba, numba_types, numba_intrinsic))
_TYPES: "dict[Any, Any]" = {
    int: types.int64,
    bool: types.boolean,
    None: types.void,
    tuple[int, int]: types.UniTuple(types.int64, 2),
    Context: types.int64[::1],
    Words: types.uint32[::1],
    Ints: types.int32[::1],
    Sets: types.uint64[::1],
    Shorts: types.uint16[::1],
    Bytes: types.uint8[::1],
}


def inner(function: F) -> F:
    """A function that only other kernels call; compiled into them, after `prepare`."""
    return cast(
        "F",
        _numba.njit(
            function,
            nogil=True,
            error_model="numpy",
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
        ),
    )


def once(function: F) -> F:
    """A function that is called in one place: put there before types are inferred.

    Each layer of functions around `step` would otherwise take LLVM another second.
    """
    return cast("F", _numba.njit(function, nogil=True, error_model="numpy", inline="always"))


def prepare(kernel: Callable[..., Any]) -> None:
    """Compile the inner functions that a kernel calls, callees first, each for its annotations."""
    for callee in _callees(kernel):
        if not callee.signatures:
            prepare(callee.py_func)
            if callee.targetoptions.get("inline") == "always":
                continue
            hints = dict(callee.py_func.__annotations__)
            result = _TYPES[hints.pop("return")]
            callee.compile(result(*(_TYPES[hint] for hint in hints.values())))
            callee.disable_compile()


def _callees(kernel: Callable[..., Any]) -> "Iterator[Any]":
    function = cast("FunctionType", kernel)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, dispatcher.Dispatcher):
            yield value


@cast("Callable[[Any], Callable[[int], Any]]", intrinsic)
def _pointer(typing_context: Any, address: Any) -> Any:
    """The address as a pointer."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), build


@inner
def int32s(context: Context, slot: int) -> Ints:
    """The one-dimensional int32 array at a slot."""
    return _numba.carray(_pointer(context[slot]), (1 << 40,), np.int32)


@inner
def int64s(context: Context, slot: int) -> Context:
    """The one-dimensional int64 array at a slot."""
    return _numba.carray(_pointer(context[slot]), (1 << 40,), np.int64)


@inner
def uint8s(context: Context, slot: int) -> Bytes:
    """The one-dimensional uint8 array at a slot."""
    return _numba.carray(_pointer(context[slot]), (1 << 40,), np.uint8)


@inner
def uint16s(context: Context, slot: int) -> Shorts:
    """The one-dimensional uint16 array at a slot."""
    return _numba.carray(_pointer(context[slot]), (1 << 40,), np.uint16)


@inner
def uint32s(context: Context, slot: int) -> Words:
    """The one-dimensional uint32 array at a slot."""
    return _numba.carray(_pointer(context[slot]), (1 << 40,), np.uint32)


@inner
def uint64s(context: Context, slot: int) -> Sets:
    """The one-dimensional uint64 array at a slot."""
    return _numba.carray(_pointer(context[slot]), (1 << 40,), np.uint64)
