"""Size of guideway's caches, and how to free them."""

from dataclasses import dataclass
from typing import final

from guideway.constraints.compile import remembered
from guideway.masks.memory import total, tracked


@final
@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The contents of guideway's caches in this process.

    Attributes:
        constraints: number of constraints that `compile` keeps.
        most_constraints: their greatest number.
        constraint_bytes: their memory.
        most_constraint_bytes: memory above which the least recently used one is dropped.
        compile_hits: number of `compile` calls that found their constraint.
        compile_misses: number of `compile` calls that built one.
        caches: constraints in use, kept or not, and the caches that they share.
        rows: number of masks in them.
        row_bytes: memory of the masks.
        states: number of states whose transitions are kept.
        state_bytes: memory of the transitions.
        row_hits: number of masks that were found.
        row_misses: number of masks that were computed.
    """

    constraints: int
    most_constraints: int
    constraint_bytes: int
    most_constraint_bytes: int
    compile_hits: int
    compile_misses: int
    caches: int
    rows: int
    row_bytes: int
    states: int
    state_bytes: int
    row_hits: int
    row_misses: int

    @property
    def bytes(self) -> int:
        """Memory of all rows and transitions."""
        return self.row_bytes + self.state_bytes


def cache_info() -> CacheInfo:
    """Return what guideway keeps in memory in this process.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b"])
        >>> constraint = gw.compile(gw.Choice(["a"]), vocabulary)
        >>> before = gw.cache_info().row_misses
        >>> row = constraint.mask(constraint.start())
        >>> gw.cache_info().row_misses - before
        1
    """
    caches = tracked()
    held = total(cache.held() for cache in caches)
    return CacheInfo(
        constraints=len(remembered),
        most_constraints=remembered.most,
        constraint_bytes=remembered.bytes(),
        most_constraint_bytes=remembered.most_bytes,
        compile_hits=remembered.hits,
        compile_misses=remembered.misses,
        caches=len(caches),
        rows=held.rows,
        row_bytes=held.row_bytes,
        states=held.states,
        state_bytes=held.state_bytes,
        row_hits=held.hits,
        row_misses=held.misses,
    )


def clear_cache() -> None:
    """Free the memory of compiled constraints, masks and transitions.

    Constraints in use still work, and build again what they need.

    Example:
        >>> import guideway as gw
        >>> gw.clear_cache()
        >>> gw.cache_info().constraints
        0
    """
    remembered.clear()
    for cache in tracked():
        cache.forget()
