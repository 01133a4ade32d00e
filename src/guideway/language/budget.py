"""Limits on the work of compiling, and on the memory of a constraint.

Work is counted in the loops that do it: estimates are wrong by orders of magnitude
(`[ab]*a[ab]{13}` has 16,387 states). After compiling, nothing fails for lack of fuel.
"""

from dataclasses import dataclass
from typing import Self, final

from guideway.errors import LimitError, brief


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one `compile`.

    Attributes:
        fuel: number of automaton parts that compiling may build.
        table_bytes: memory for transitions; beyond it they are dropped and built again.
        rows: number of token masks that a constraint keeps, `width / 8` bytes each.

    >>> Budget.default().fuel
    4000000
    """

    fuel: int = 4_000_000
    table_bytes: int = 256 << 20
    rows: int = 1024

    def __post_init__(self) -> None:
        for name in ("fuel", "table_bytes", "rows"):
            given: object = getattr(self, name)
            if not isinstance(given, int) or isinstance(given, bool) or given < 1:
                raise LimitError(
                    f"{name} must be a positive integer, not {brief(given)}",
                    limit=name,
                    given=given if isinstance(given, int) else None,
                    needed=1,
                )

    @classmethod
    def default(cls) -> Self:
        """Return the limits that apply when none are given."""
        return cls()

    @classmethod
    def untrusted(cls) -> Self:
        """Return limits for untrusted sources: a tenth of the work, a quarter of the tables."""
        return cls(fuel=400_000, table_bytes=64 << 20, rows=64)


@final
class Meter:
    """Counts the work of one compilation against its budget; `work` names it in errors."""

    def __init__(self, budget: Budget, work: str = "compiling") -> None:
        self._left: int | None = budget.fuel
        self._fuel, self._work = budget.fuel, work

    def tick(self, made: int) -> None:
        """Count `made` parts; raise LimitError if the budget is used up."""
        if self._left is None:
            return
        self._left -= made
        if self._left < 0:
            raise LimitError(
                f"{self._work} takes more than {self._fuel} parts of automata: simplify the "
                "source, or pass a larger guideway.Budget(fuel=...)",
                limit="fuel",
                given=self._fuel,
            )

    def release(self) -> None:
        """Stop counting: compiling is over."""
        self._left = None
