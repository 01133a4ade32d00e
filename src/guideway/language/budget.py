"""Limits on the work of compiling and of tokens, and on the memory of a constraint.

Work is counted in the loops that do it: estimates are wrong by orders of magnitude
(`[ab]*a[ab]{13}` has 16,387 states).
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Self

from guideway.errors import LimitError, brief
from guideway.language.fuel import metered, spend


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one `compile`, and of its constraint.

    Attributes:
        fuel: number of automaton parts that compiling may build.
        table_bytes: memory for transitions; beyond it they are dropped and built again.
        rows: number of token masks that a constraint keeps, `width / 8` bytes each.
        token_fuel: number of automaton parts that one mask or token may build after compiling, None
            for any number. Beyond it a `LimitError` ends the text.

    >>> Budget.default().fuel
    4000000
    """

    fuel: int = 4_000_000
    table_bytes: int = 256 << 20
    rows: int = 1024
    token_fuel: int | None = None

    def __post_init__(self) -> None:
        for name in ("fuel", "table_bytes", "rows", "token_fuel"):
            given: object = getattr(self, name)
            if given is None and name == "token_fuel":
                continue
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
        """Return limits for untrusted sources: a tenth of the work, a quarter of the tables.

        What is refused is refused when compiling: tokens are not limited.
        """
        return cls(fuel=400_000, table_bytes=64 << 20, rows=64)

    def token(self) -> AbstractContextManager[None]:
        """Limit the work of one mask or token."""
        if self.token_fuel is None:
            return FREE
        return metered(Meter(self, "a token", "token_fuel").tick, fresh=True, patient=True)


class Meter:
    """Counts work against a field of a budget; `work` names it in errors."""

    def __init__(self, budget: Budget, work: str = "compiling", field: str = "fuel") -> None:
        self._fuel: int = getattr(budget, field)
        self._left: int | None = self._fuel
        self._work, self._field = work, field

    def tick(self, made: int) -> None:
        """Count `made` parts; raise LimitError if the budget is used up."""
        if self._left is None:
            spend(made)
            return
        self._left -= made
        if self._left < 0:
            raise LimitError(
                f"{self._work} takes more than {self._fuel} parts of automata: simplify the "
                f"source, or pass a larger guideway.Budget({self._field}=...)",
                limit="fuel",
                given=self._fuel,
            )

    def release(self) -> None:
        """Stop counting here: compiling is over, and each token has a meter of its own."""
        self._left = None


FREE: Final = nullcontext()
