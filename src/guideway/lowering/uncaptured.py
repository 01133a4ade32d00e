"""The half of a `Template` that is the same for all templates without captures."""

from collections.abc import Callable, Hashable

from guideway.lowering.expr import EMPTY
from guideway.lowering.nodes import Expr, Least, Look


class Uncaptured:
    """Half of a `Template`: what is left are `unfold`, `lives` and `least`."""

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        """Nothing is captured."""
        del argument, captured
        return EMPTY

    def resume_any(self, argument: Hashable) -> Expr:
        """Nothing is captured."""
        del argument
        return EMPTY

    def remembers(self, argument: Hashable) -> bool:
        """Nothing is captured."""
        del argument
        return True

    def depends(self, argument: Hashable) -> bool:
        """Nothing is captured."""
        del argument
        return False

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        """Nothing is captured."""
        del argument, look, captured
        return False

    def parts(self, argument: Hashable) -> tuple[Expr, ...]:
        """Nothing is entered that may be refused."""
        del argument
        return ()

    def least_after(
        self,
        argument: Hashable,
        least: Least,
        captured: bytes | None = None,
    ) -> bytes | None:
        """Nothing is captured."""
        del argument, least, captured
        return None

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        """Nothing that is captured is needed."""
        del argument, least, read
        return None
