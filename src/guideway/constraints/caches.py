"""What guideway keeps in memory to be fast: how much it is, and how to give it back.

Everything that is kept can be made again, so nothing here changes a result.
"""

from dataclasses import dataclass
from typing import final

from guideway.constraints.compile import remembered
from guideway.masks.memory import total, tracked


@final
@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What is in memory now, in this process.

    Attributes:
        constraints: how many `compile` remembers.
        most_constraints: how many it remembers at most.
        constraint_bytes: what these hold.
        most_constraint_bytes: what they may hold before the least recently used is dropped.
        compile_hits: how often `compile` had the constraint already.
        compile_misses: how often it had not.
        caches: constraints in use, remembered or not, and caches that they share.
        rows: masks that these remember.
        row_bytes: their memory.
        states: states whose transitions are remembered.
        state_bytes: the memory of the transitions.
        row_hits: how many masks were remembered when they were asked for.
        row_misses: how many had to be made.
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
    """What guideway keeps in memory, in this process.

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
    """Give the memory back: forget compiled constraints, masks and transitions.

    Constraints that are still in use go on as before, and make again what they need.

    Example:
        >>> import guideway as gw
        >>> gw.clear_cache()
        >>> gw.cache_info().constraints
        0
    """
    remembered.clear()
    for cache in tracked():
        cache.forget()
