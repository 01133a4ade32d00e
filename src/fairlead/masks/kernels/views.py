"""Arrays from the addresses in the context, as numba sees them; and how inner kernels are declared.

The annotations of a kernel are its only signature: `int` is int64, arrays are contiguous. Without
that, numba would compile a function anew for each mixture of narrow and wide integers it is called
with, which took four times as long.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import cgutils, codegen, dispatcher
from numba.core import types as numba_types
from numba.core.compiler_lock import global_compiler_lock
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
    with _only_linked():
        _prepare(kernel)


def _prepare(kernel: Callable[..., Any]) -> None:
    for callee in _callees(kernel):
        if not callee.signatures:
            _prepare(callee.py_func)
            if callee.targetoptions.get("inline") == "always":
                continue
            hints = dict(callee.py_func.__annotations__)
            result = _TYPES[hints.pop("return")]
            callee.compile(result(*(_TYPES[hint] for hint in hints.values())))
            callee.disable_compile()


@contextmanager
def _only_linked() -> "Generator[None]":
    """Inner functions are optimised and translated where they are called, not by themselves too.

    That took 14 of 34 s: each came with all that it calls. numba has no setting for it, so its own
    steps are left out while the lock of its compiler is held. Where it has no such steps any more,
    compiling only takes longer.
    """
    parts = cast("Any", codegen)
    steps = [
        (parts.JITCodeLibrary, "_optimize_final_module"),
        (parts.JITCodeLibrary, "_finalize_specific"),
        (parts.JITCPUCodegen, "_add_module"),
        (parts.JITCPUCodegen, "set_env"),
    ]
    if not all(hasattr(owner, name) for owner, name in steps):
        yield
        return
    with cast("Any", global_compiler_lock):
        before = [(owner, name, getattr(owner, name)) for owner, name in steps]
        try:
            for owner, name in steps:
                setattr(owner, name, _nothing)
            yield
        finally:
            for owner, name, step in before:
                setattr(owner, name, step)


def _nothing(*_: object) -> None:
    pass


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


@cast("Callable[[Any], Callable[[int], int]]", intrinsic)
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """The place of the lowest bit of a word that has one."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.int64), build


@cast("Callable[[Any], Callable[[], None]]", intrinsic)
def apart(typing_context: Any) -> Any:
    """Said first in a function: it is never put into those that call it.

    For what takes longer than a call does, and is called in several places: less code to compile.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), build


@cast("Callable[[Any], Callable[[], None]]", intrinsic)
def fence(typing_context: Any) -> Any:
    """All that was written before is seen by other threads before what is written after."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), build


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
