"""Declarations for kernels: inner functions, and words that stand for instructions."""

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast, final

from guideway.masks.kernels.operands import llvm_type


@final
@dataclass(frozen=True, slots=True)
class Word:
    """Name of an instruction, or a view of items whose address is in a slot."""

    name: str
    item: str = ""

    def __call__(self, *arguments: object) -> Any:
        raise NotImplementedError(self.name)


@final
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
