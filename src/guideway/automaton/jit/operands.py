"""Declarations of kernels (`@inner`), and typed operands and instructions in LLVM."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args, get_origin

from guideway.automaton.jit.records import LAYOUTS, Rows, Whole, i32, i64, kind_of, u32, u64

SIGNED: Final = "int64"
SET: Final = "uint64"
BOOL: Final = "bool"
LLVM: Final = {SIGNED: "i64", SET: "i64", BOOL: "i1"}
# Items of arrays: LLVM type, kind when read, and how they are widened.
ITEMS: Final = {
    "int64": ("i64", SIGNED, ""),
    "uint64": ("i64", SET, ""),
    "uint32": ("i32", SET, "zext"),
    "int32": ("i32", SIGNED, "sext"),
    "uint16": ("i16", SIGNED, "zext"),
    "uint8": ("i8", SIGNED, "zext"),
}
_BITWISE: Final = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_ARITHMETIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    **_BITWISE,
}
_COMPARED: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}


def llvm_type(kind: str) -> str:
    """LLVM type of a kind; of arrays and records, that of the address."""
    return "ptr" if kind[-1] in "*]&" else LLVM[kind]


@dataclass(frozen=True, slots=True)
class Operand:
    """A value: kind, LLVM text, and the constant or the length of the array if known."""

    kind: str
    text: str
    constant: int | None = None
    length: str = ""

    @property
    def item(self) -> str:
        """Kind of the items of an array."""
        name = self.kind[: -1 if self.kind[-1] == "*" else -2]
        return f"{name}&" if name in LAYOUTS else name


def constant(value: int) -> Operand:
    if isinstance(value, bool):
        return Operand(BOOL, str(value).lower(), int(value))
    return Operand(SIGNED if value < 1 << 63 else SET, str(value), value)


def common_kind(one: Operand, other: Operand) -> str:
    """The kind that both can be converted to without loss."""
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return one.kind
    if not kinds <= LLVM.keys():
        raise TypeError(f"nothing is both of {one} and {other}")
    if kinds == {SIGNED, SET}:
        signed = one if one.kind == SIGNED else other
        if signed.constant is None or signed.constant < 0:
            raise TypeError(f"a signed number and an unsigned one: {one}, {other}")
    return SET if SET in kinds else SIGNED


class Instructions:
    __slots__ = ("lines", "names", "slots")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.names = 0

    def fresh(self, what: str = "t") -> str:
        self.names += 1
        return f"{what}{self.names}"

    def add(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def slot(self, name: str) -> str:
        """A stack slot for a value of a type; LLVM turns these into registers."""
        slot = "%" + self.fresh("s")
        self.slots.append(f"  {slot} = alloca {name}")
        return slot

    def value(self, instruction: str) -> str:
        """Add an instruction; return the name of its result."""
        name = "%" + self.fresh()
        self.add(f"{name} = {instruction}")
        return name

    def as_kind(self, value: Operand, kind: str) -> str:
        """Convert a value to another kind, keeping its lower bits."""
        if value.kind == kind or (value.kind[:-2] == kind[:-1] and kind[-1] == "*"):
            return value.text
        if value.kind not in LLVM or kind not in LLVM:
            raise TypeError(f"{value} is no {kind}")
        if kind == BOOL:
            return self.value(f"icmp ne i64 {value.text}, 0")
        if value.constant is not None:
            return str(value.constant)
        return self.value(f"zext i1 {value.text} to i64") if value.kind == BOOL else value.text

    def fitting(self, value: Operand, kind: str) -> str:
        """As `as_kind`, but a change of sign is a TypeError."""
        if {value.kind, kind} == {SIGNED, SET} and value.constant is None:
            raise TypeError(f"{value} is no {kind}")
        return self.as_kind(value, kind)

    def applied(self, operator: ast.operator, one: Operand, other: Operand) -> Operand:
        """Apply a binary operator."""
        if isinstance(operator, ast.LShift | ast.RShift):
            return self._shifted(operator, one, other)
        if isinstance(operator, ast.FloorDiv | ast.Mod):
            return self._divided(operator, one, other)
        kind = common_kind(one, other)
        if kind == BOOL and type(operator) not in _BITWISE:
            kind = SIGNED
        texts = self.as_kind(one, kind), self.as_kind(other, kind)
        name = _ARITHMETIC[type(operator)]
        return Operand(kind, self.value(f"{name} {LLVM[kind]} {texts[0]}, {texts[1]}"))

    def _shifted(self, operator: ast.operator, one: Operand, other: Operand) -> Operand:
        kind = SET if one.kind == SET else SIGNED
        name = "shl" if isinstance(operator, ast.LShift) else "lshr" if kind == SET else "ashr"
        texts = self.as_kind(one, kind), self.as_kind(other, SET)
        return Operand(kind, self.value(f"{name} i64 {texts[0]}, {texts[1]}"))

    def _divided(self, operator: ast.operator, one: Operand, other: Operand) -> Operand:
        """Floor division and modulo as in Python (LLVM truncates); 0 for division by 0."""
        if SIGNED not in (common_kind(one, other), BOOL):
            raise TypeError(f"only signed numbers are divided: {one}, {other}")
        whole, by = self.as_kind(one, SIGNED), self.as_kind(other, SIGNED)
        none = self.value(f"icmp eq i64 {by}, 0")
        safe = self.value(f"select i1 {none}, i64 1, i64 {by}")
        quotient = self.value(f"sdiv i64 {whole}, {safe}")
        left = self.value(f"srem i64 {whole}, {safe}")
        apart = self.value(f"icmp slt i64 {self.value(f'xor i64 {left}, {safe}')}, 0")
        some = self.value(f"icmp ne i64 {left}, 0")
        lower = self.value(f"and i1 {apart}, {some}")
        if isinstance(operator, ast.FloorDiv):
            less = self.value(f"sext i1 {lower} to i64")
            found = self.value(f"add i64 {quotient}, {less}")
        else:
            more = self.value(f"select i1 {lower}, i64 {safe}, i64 0")
            found = self.value(f"add i64 {left}, {more}")
        return Operand(SIGNED, self.value(f"select i1 {none}, i64 0, i64 {found}"))

    def compared(self, operator: ast.cmpop, one: Operand, other: Operand) -> str:
        kind = common_kind(one, other)
        name = _COMPARED[type(operator)]
        if name not in ("eq", "ne"):
            name = ("s" if kind == SIGNED else "u") + name
        texts = self.as_kind(one, kind), self.as_kind(other, kind)
        return self.value(f"icmp {name} {LLVM[kind]} {texts[0]}, {texts[1]}")

    def place(self, array: Operand, index: Operand) -> str:
        at, item = self.as_kind(index, SIGNED), array.item
        size = ITEMS[item][0] if item in ITEMS else "ptr"
        if item[-1] == "&":
            size = f"[{LAYOUTS[item[:-1]].size} x i8]"
        return self.value(f"getelementptr inbounds {size}, ptr {array.text}, i64 {at}")

    def field(self, record: Operand, name: str) -> tuple[str, str]:
        """Kind and address of a field of a record."""
        offset, kind = LAYOUTS[record.kind[:-1]].fields[name]
        place = self.value(f"getelementptr inbounds i8, ptr {record.text}, i64 {offset}")
        return kind, place

    def load(self, kind: str, place: str) -> Operand:
        """The number, array or record at an address."""
        if kind[-1] == "&" or kind[0] == "=":
            return Operand(kind.lstrip("="), place)
        if kind[-1] == "*":
            return Operand(kind, self.value(f"load ptr, ptr {place}"))
        name, wide, widened = ITEMS[kind]
        text = self.value(f"load {name}, ptr {place}")
        if widened:
            text = self.value(f"{widened} {name} {text} to i64")
        return Operand(wide, text)

    def put(self, kind: str, place: str, value: Operand) -> None:
        """Store a number, truncated."""
        name = ITEMS[kind][0]
        text = self.as_kind(value, SIGNED)
        if name != "i64":
            text = self.value(f"trunc i64 {text} to {name}")
        self.add(f"store {name} {text}, ptr {place}")


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """An instruction without a Python equivalent."""

    name: str

    def __call__(self, *arguments: object) -> Any:
        raise NotImplementedError(self.name)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Inner:
    """A function that only kernels call; `once`: always inlined."""

    function: Callable[..., Any]
    parameters: dict[str, str]
    results: tuple[str, ...]
    once: bool

    @property
    def code(self) -> FunctionType:
        return cast("FunctionType", self.function)

    @property
    def symbol(self) -> str:
        return f"{self.code.__module__}.{self.code.__qualname__}"

    @property
    def result_type(self) -> str:
        types = [llvm_type(kind) for kind in self.results]
        return "void" if not types else types[0] if len(types) == 1 else f"{{{', '.join(types)}}}"

    def __call__(self, *arguments: object) -> Any:
        raise NotImplementedError(self.symbol)


Numbers: TypeAlias = Rows[i64]
Words: TypeAlias = Rows[u32]
Ints: TypeAlias = Rows[i32]
Sets: TypeAlias = Rows[u64]
WholeInts: TypeAlias = Whole[i32]
WholeWords: TypeAlias = Whole[u32]
WholeNumbers: TypeAlias = Whole[i64]
F = TypeVar("F", bound=Callable[..., Any])


def inner(function: F) -> F:
    """Declare a kernel function; see `statements`."""
    return cast("F", _declared(function, once=False))


def once(function: F) -> F:
    """Declare a kernel function with one caller, where it is always inlined."""
    return cast("F", _declared(function, once=True))


def _declared(function: Callable[..., Any], *, once: bool) -> Inner:
    hints = dict(cast("FunctionType", function).__annotations__)
    result = hints.pop("return")
    results = (
        get_args(result) if get_origin(result) is tuple else () if result is None else (result,)
    )
    kinds = {name: _kind(hint) for name, hint in hints.items()}
    return Inner(function, kinds, tuple(_kind(part) for part in results), once)


def _kind(hint: Any) -> str:
    return {int: SIGNED, bool: BOOL}.get(hint) or kind_of(hint)


# Index of the lowest set bit of a word that is not 0.
lowest_bit: "Callable[[int], int]" = Intrinsic("lowest_bit")
# Earlier writes are visible to other threads before later ones.
fence: "Callable[[], None]" = Intrinsic("fence")


# Release the GIL, and acquire it again with the result of `release`. Small kernels keep it: once
# released, it comes back after up to five milliseconds.
release: "Callable[[], int]" = Intrinsic("release")
take_again: "Callable[[int], None]" = Intrinsic("take_again")
# True if an address is not 0.
exists: "Callable[[Rows[Any]], bool]" = Intrinsic("exists")

# A number; if it is negative, which is a code, the kernel that asks returns it at once.
checked: "Callable[[int], int]" = Intrinsic("checked")
