"""The methods that all templates without captures share."""

from collections.abc import Callable, Hashable

from guideway.lowering.expr import EMPTY
from guideway.lowering.nodes import Expr, Least, Look


class Uncaptured:
    """Base of templates without captures; subclasses add `unfold`, `lives` and `least`."""

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        del argument, captured
        return EMPTY

    def resume_any(self, argument: Hashable) -> Expr:
        del argument
        return EMPTY

    def remembers(self, argument: Hashable) -> bool:
        del argument
        return True

    def depends(self, argument: Hashable) -> bool:
        del argument
        return False

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        del argument, look, captured
        return False

    def parts(self, argument: Hashable) -> tuple[Expr, ...]:
        del argument
        return ()

    def least_after(
        self,
        argument: Hashable,
        least: Least,
        captured: bytes | None = None,
    ) -> bytes | None:
        del argument, least, captured
        return None

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        del argument, least, read
        return None
