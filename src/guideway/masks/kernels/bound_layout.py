"""What stands where for the lengths of bounded patterns; see `kernels.bounds`."""

from typing import Final

# Of this constraint:
SPLITTING: Final = 269  # whether searches go on from options of states, as one took long

# Of the vocabulary:
BOUND_SEARCH: Final = 270  # scalar: pairs that a search goes on from, before it is SPLITTING

# Of the lexicon, see `kernels.options`:
LEX_OPTION_AT: Final = 271  # int32[lexical states]: 0 unknown, -1 if there is one, or where
LEX_OPTION: Final = 272  # int32: those begin, up to a 0
OPTIONS_OF: Final = 1 << 30  # what is WANTed with NEED_LEX are the options of a state

# A row of LENGTH has two more fields, while a search goes on: of a pair, how many characters were
# read before it, twice, and one more while it waits; and the fewest that may be left.
L_LEVEL: Final = 8
L_LEFT: Final = 9
L_ROW: Final = 10
SEARCH_FEWEST: Final = 275  # pairs are nearest if a text through them may have so few characters,
SEARCH_NEXT: Final = 276  # and will be when it may have so many

# A flag of the lexical state between characters: each of them has a spelling of one byte, and what
# meets them has all spellings of a text or none.
PLAINLY: Final = 16
