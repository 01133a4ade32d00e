"""Records: structures that Python and kernels share, with fields by name.

    class Node(Record):
        kind: i32
        below: Annotated[Rows[u64], 4]  # four numbers within the record

    class Context(Record):
        used: i64
        nodes: Rows[Node]               # the address of an array of nodes

A kernel with a parameter `context: Context` reads `context.nodes[2].kind`; offsets and strides are
generated. To Python a record is a `ctypes.Structure`: a number is an attribute, and an array is its
address. `dtype` is the numpy type of the elements of an array.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

u8: TypeAlias = Annotated[int, "uint8"]
u16: TypeAlias = Annotated[int, "uint16"]
i32: TypeAlias = Annotated[int, "int32"]
i64: TypeAlias = Annotated[int, "int64"]
u32: TypeAlias = Annotated[np.uint32, "uint32"]
u64: TypeAlias = Annotated[np.uint64, "uint64"]
_C: Final[dict[str, Any]] = {
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
}


class Rows(Protocol[T]):
    """An array of numbers or records, as a kernel sees it."""

    def __getitem__(self, index: int, /) -> T: ...

    def __setitem__(self, index: int, value: T, /) -> None: ...


class Whole(Rows[T], Protocol[T]):
    """An array with its length; only parameters that Python passes are."""

    def __len__(self) -> int: ...


class _Declared(type(ctypes.Structure)):
    """Declares the annotations of a class as its fields, in their order."""

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        cls._fields_ = [(name, _c_type(hint)) for name, hint in cls.__annotations__.items()]


class Record(ctypes.Structure, metaclass=_Declared):
    """Base of all records."""

    @classmethod
    def from_array(cls, array: "NDArray[Any]", index: int) -> Self:
        """The record in the memory of an array, at an item."""
        return cls.from_buffer(cast("Any", array), index * array.itemsize)

    def as_array(self, kind: Any) -> "NDArray[Any]":
        """The memory of the record as an array."""
        return np.frombuffer(cast("Any", self), kind)

    def point(self, **addresses: int) -> None:
        """Set the addresses of arrays."""
        for name, address in addresses.items():
            setattr(self, name, address)

    @classmethod
    def within(cls, numbers: Rows[int], index: int, /) -> Self:
        """The record that begins at an item of an array of numbers; only in kernels."""
        raise NotImplementedError(cls.__name__)


def _c_type(hint: Any) -> Any:
    """The C type of a field; addresses are integers."""
    if get_origin(hint) is Annotated:
        what, detail = get_args(hint)
        return _C[detail] if isinstance(detail, str) else _c_type(get_args(what)[0]) * detail
    origin = get_origin(hint) or hint
    return ctypes.c_int64 if origin is Rows else origin


class Table(Record, Generic[T]):
    """An array that grows, with its hash table; kernels write `table[index]` for its rows."""

    rows: Rows[T]
    hashes: Rows[i32]  # 2 * room, numbers of rows
    used: i64
    room: i64

    def __getitem__(self, index: int, /) -> T:
        raise NotImplementedError

    def __setitem__(self, index: int, value: T, /) -> None:
        raise NotImplementedError


@cache  # numpy reads a structure field by field: a tenth of the time of new nodes
def dtype(item: Any) -> "np.dtype[Any]":
    """The numpy type of the items of `Rows[item]`.

    >>> dtype(i32)
    dtype('int32')
    """
    return np.dtype(_c_type(item))


def field_of(declared: Any, path: str) -> tuple[int, Any]:
    """Offset of a field in bytes, and T of its `Rows[T]`; `path` may lead through inner records.

    >>> class Texts(Record):
    ...     count: i64
    ...     bytes: Table[u8]
    >>> field_of(Texts, "bytes.rows")[0], dtype(field_of(Texts, "bytes.rows")[1])
    (8, dtype('uint8'))
    """
    offset, name, rest = 0, *path.partition(".")[::2]
    while rest:
        offset += getattr(get_origin(declared) or declared, name).offset
        declared = declared.__annotations__[name]
        name, _, rest = rest.partition(".")
    outer = get_origin(declared) or declared
    (item,) = get_args(outer.__annotations__[name])
    if isinstance(item, TypeVar):
        (item,) = get_args(declared)
    return offset + getattr(outer, name).offset, item


@dataclass(frozen=True, slots=True)
class Layout:
    """Size of a record in bytes; offset and kind of each field.

    A kind is `int32` for a number, `int32*` or `Node*` for an array, `Node&` for a record; `=` is
    before the kind of an array within the record.
    """

    declared: type[Record]
    size: int
    fields: Mapping[str, tuple[int, str]]


LAYOUTS: Final[dict[str, Layout]] = {}  # by the name of a record
_ARRAYS: Final[dict[Any, str]] = {Rows: "*", Whole: "[]"}


def kind_of(hint: Any) -> str:
    """The kind of a value; writes the layout of records.

    >>> kind_of(i32), kind_of(Rows[i32]), kind_of(Annotated[Rows[u64], 4])
    ('int32', 'int32*', '=uint64*')
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return parts[1] if isinstance(parts[1], str) else "=" + kind_of(parts[0])
    if origin in _ARRAYS:
        return kind_of(parts[0]).rstrip("&") + _ARRAYS[origin]
    return _record_kind(origin or hint, parts[0] if parts else None)


def _record_kind(declared: Any, parameter: Any) -> str:
    if not (isinstance(declared, type) and issubclass(declared, Record)):
        raise TypeError(f"{declared} is no number, array or record")
    name = f"{declared.__module__}.{declared.__qualname__}"
    if parameter is not None:
        name += f"({kind_of(parameter)})"
    if name not in LAYOUTS or LAYOUTS[name].declared is not declared:
        fields = dict[str, tuple[int, str]]()
        for field, hint in declared.__annotations__.items():
            place = getattr(declared, field).offset
            of_rows = parameter is not None and get_args(hint)[:1] == (T,)
            fields[field] = place, kind_of(Rows[parameter] if of_rows else hint)
        LAYOUTS[name] = Layout(declared, ctypes.sizeof(declared), fields)
    return f"{name}&"
