"""What stands where of what closures share: see `layout`, whose context this is, and `entries`."""

from typing import Final

ENTERED: Final = 273  # int64[room of SCRATCH]: ENTRY node << 32 | a stack that it was entered on,
ENTRIES: Final = 274  # so many

# What an EXPR node says of its expression in its second field: whether it is
NULLABLE: Final = 1  # so, and whether it
SHARED: Final = 2  # may be entered once for all that follows it in a closure

# A kind of node: an EXPR, 0, guards: what follows that; or a node, the ENTRY that it stands on.
ENTRY: Final = 32
