"""What stands where for pictures of bounded patterns; see `kernels.bounded_pictures`."""

from typing import Final

# Of this constraint:
BOUND_FAR: Final = 249  # whether the picture that is needed is one for bounds that are far
BOUND_MOST: Final = 250  # of such a picture: the most characters that a text needs with its tokens,
BOUND_ENDED: Final = 251  # and how many tokens the closing byte ends
BOUND_REST: Final = 278  # the most characters that are needed on a way, see `bounded_ways`
SPLITTING: Final = 269  # whether searches go on from options of states, as one took long

# Of the vocabulary:
BOUND_ROOM: Final = 252  # scalar: from how many characters on a bound is far
BOUND_LONG: Final = 253  # int64[BOUND_LONGS, 4]: tokens of many characters, all; and of each
BOUND_LONGS: Final = 254  # which ASCII its bytes behind the first are, and whether others are
BOUND_CHARS: Final = 255  # scalar: more characters than so many
BOUND_SEARCH: Final = 270  # scalar: pairs that a search goes on from, before it is SPLITTING

# Of the lexicon, see `kernels.options`:
LEX_OPTION_AT: Final = 271  # int32[lexical states]: 0 unknown, -1 if there is one, or where
LEX_OPTION: Final = 272  # int32: those begin, up to a 0
OPTIONS_OF: Final = 1 << 30  # what is WANTed with NEED_LEX are the options of a state

# One more field of BOUND: 0, or one more than the characters before the first of its exits, for
# which there is one trie.
B_FAR: Final = 11

# Behind the row of a picture for bounds that are far: how many long tokens are listed, and
FEWEST_AT: Final = 1  # one more than the fewest characters before an exit, 0 if there is none;
LISTED_AT: Final = 2  # characters and a token, so many times

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
