"""Types of the functions that make formats."""

from collections.abc import Callable
from typing import TypeAlias

from guideway.lowering.nodes import Expr

Match: TypeAlias = Callable[[str], Expr]
"""The strings that an ECMA pattern matches as a whole, spelled in some way."""

Lower: TypeAlias = Callable[[Match], Expr]
"""The strings of a format, made by matching."""
