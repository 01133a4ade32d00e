"""Slots and node fields for entries of closures; see `layout` and `entries`."""

from typing import Final

ENTERED: Final = 273  # int64[room of SCRATCH]: ENTRY node << 32 | a stack that it was entered on
ENTRIES: Final = 274  # how many

# Flags of the expression in the second field of an EXPR node:
NULLABLE: Final = 1  # it accepts the empty text
SHARED: Final = 2  # it may be entered once for all that follows it in a closure

# Kind of node: an EXPR, 0, guards: end of that expression; or a node, the ENTRY below it.
ENTRY: Final = 32
