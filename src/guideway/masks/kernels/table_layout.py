"""The layout of what tables of Lark's automaton are laid from (`tables`)."""

from typing import Final

# What is told: how many states, rules, terminals and productions there are, and cells of shifts,
# reductions and gotos; of each of these then the sizes of the rows, symbols, and what is there.
STATES: Final = 0
RULES: Final = 1
TERMINALS: Final = 2
PRODUCTIONS: Final = 3
CELLS: Final = 4
PARTS: Final = 7

# What is measured: for each state the row of its terminals, then those of its rules, each its place
# among the cells less its first column, that, and the one behind its last; how many cells both
# have, and the size of the sets; and for each production three numbers that are not kept.
ROW: Final = 3
BOTH: Final = 6
TOTALS: Final = 3
SCRATCH: Final = 3
