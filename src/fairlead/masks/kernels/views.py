"""Arrays as kernels see them, and how inner kernels are declared.

Within kernels an array is the address of its first item: Python's own are `bare`d by the kernel
that is given them, and the others come from the addresses in the context. Arrays with lengths and
strides are seven values in each call, whose references numba counts: that took 5 of 30 s of
compiling, and masks a tenth longer. Only where a length is looked at do annotations say Whole.

The annotations of a kernel are its only signature: `int` is int64, and so on. Without that, numba
would compile a function anew for each mixture of narrow and wide integers it is called with, which
took four times as long.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import cgutils, dispatcher
from numba.core import types as numba_types
from numba.extending import intrinsic as numba_intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

from fairlead.masks.kernels.linking import InnerPipeline

Context: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint32]
Ints: TypeAlias = NDArray[np.int32]
Sets: TypeAlias = NDArray[np.uint64]
Shorts: TypeAlias = NDArray[np.uint16]
Bytes: TypeAlias = NDArray[np.uint8]
WholeInts: TypeAlias = Annotated[Ints, "with its length"]
WholeWords: TypeAlias = Annotated[Words, "with its length"]
WholeNumbers: TypeAlias = Annotated[Context, "with its length"]
Array = TypeVar("Array", bound=NDArray[Any])
F = TypeVar("F", bound=Callable[..., Any])


class Bare(Protocol):
    """What `bare` is: it leaves the type of an array as Python sees it."""

    def __call__(self, array: Array) -> Array: ...


_numba, _arrays, types, intrinsic = (
    cast("Any", part) for part in (numba, arrayobj, numba_types, numba_intrinsic)
)
_TYPES: "dict[Any, Any]" = {
    int: types.int64,
    bool: types.boolean,
    None: types.void,
    tuple[int, int]: types.UniTuple(types.int64, 2),
    tuple[int, int, int, int]: types.UniTuple(types.int64, 4),
    Context: types.CPointer(types.int64),
    Words: types.CPointer(types.uint32),
    Ints: types.CPointer(types.int32),
    Sets: types.CPointer(types.uint64),
    Shorts: types.CPointer(types.uint16),
    Bytes: types.CPointer(types.uint8),
    WholeInts: types.int32[::1],
    WholeWords: types.uint32[::1],
    WholeNumbers: types.int64[::1],
}
# No exceptions to look for, no wrappers for Python, and nothing whose references are counted.
_SETTINGS: "dict[str, Any]" = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InnerPipeline,
    "_nrt": False,
}


def inner(function: F) -> F:
    """A function that only other kernels call; compiled into them, after `prepare`."""
    return cast("F", _numba.njit(function, **_SETTINGS))


def once(function: F) -> F:
    """A function that is called in one place, where LLVM always puts it.

    numba's own inlining, before it infers types, took 5 of 35 s.
    """
    return cast("F", _numba.njit(function, forceinline=True, **_SETTINGS))


def prepare(kernel: Callable[..., Any]) -> None:
    """Compile the inner functions that a kernel calls, callees first, each for its annotations."""
    for callee in _callees(kernel):
        if not callee.signatures:
            prepare(callee.py_func)
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


@cast("Callable[[Any], Bare]", intrinsic)
def bare(typing_context: Any, array: Any) -> Any:
    """An array of Python's as inner kernels see it: its address."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _arrays.make_array(array)(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), build


def _view(item: Any) -> Any:
    """The array whose address is in a slot of the context."""
    result, slots = types.CPointer(item), types.CPointer(types.int64)

    def view(typing_context: Any, context: Any, slot: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = builder.load(builder.gep(arguments[0], [arguments[1]]))
            return builder.inttoptr(address, context.get_value_type(result))

        return result(slots, types.int64), build

    return intrinsic(view)


int32s: "Callable[[Context, int], Ints]" = _view(types.int32)
int64s: "Callable[[Context, int], Context]" = _view(types.int64)
uint8s: "Callable[[Context, int], Bytes]" = _view(types.uint8)
uint16s: "Callable[[Context, int], Shorts]" = _view(types.uint16)
uint32s: "Callable[[Context, int], Words]" = _view(types.uint32)
uint64s: "Callable[[Context, int], Sets]" = _view(types.uint64)
