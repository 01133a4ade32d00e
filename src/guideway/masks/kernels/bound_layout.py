"""Slots and fields for the lengths of bounded patterns; see `kernels.bounds`."""

from typing import Final

# This constraint:
SPLITTING: Final = 269  # whether searches split states into options, since one took long

# The vocabulary:
BOUND_SEARCH: Final = 270  # scalar: pairs that a search expands before it is SPLITTING

# The lexicon, see `kernels.lexemes`:
LEX_OPTION_AT: Final = 271  # int32[lexical states]: 0 unknown, -1 if there is one, or index
LEX_OPTION: Final = 272  # int32: options from that index, up to a 0
OPTIONS_OF: Final = 1 << 30  # added to WANT of NEED_LEX: the options of a state are missing

# Two more fields of LENGTH, used during a search: twice the characters read before the pair, plus
# one while it waits; and the fewest that may be left.
L_LEVEL: Final = 8
L_LEFT: Final = 9
L_ROW: Final = 10
SEARCH_FEWEST: Final = 275  # the nearest pairs have a text with so few characters,
SEARCH_NEXT: Final = 276  # and the next ones with so many

# Flag of the lexical state between characters: each character has a one-byte spelling, and
# intersecting patterns accept all spellings of a text or none.
PLAINLY: Final = 16
