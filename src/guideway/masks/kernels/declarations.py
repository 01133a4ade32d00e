"""What can be declared for kernels: inner functions, and words that mean instructions.

What this module does not know: how any of it is translated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast, final

from guideway.masks.kernels.operands import llvm_type


@final
@dataclass(frozen=True, slots=True)
class Word:
    """What stands for an instruction: a view of items whose address is in a slot, or its name."""

    name: str
    item: str = ""

    def __call__(self, *arguments: object) -> Any:
        """Words mean something only within kernels."""
        raise NotImplementedError(self.name)


@final
@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Inner:
    """A function that only kernels call.

    `once`: it is put into what calls it, wherever that is.
    """

    function: Callable[..., Any]
    parameters: dict[str, str]
    results: tuple[str, ...]
    once: bool

    @property
    def code(self) -> FunctionType:
        """The function, with its names."""
        return cast("FunctionType", self.function)

    @property
    def symbol(self) -> str:
        """What LLVM calls it."""
        return f"{self.code.__module__}.{self.code.__qualname__}"

    @property
    def result_type(self) -> str:
        """What it gives."""
        types = [llvm_type(kind) for kind in self.results]
        return "void" if not types else types[0] if len(types) == 1 else f"{{{', '.join(types)}}}"

    def __call__(self, *arguments: object) -> Any:
        """Only kernels call it."""
        raise NotImplementedError(self.symbol)
