"""What stands where for jumps over parts of the vocabulary's trie; see `kernels.jumps`."""

from typing import Final

# Of the vocabulary:
SPOT: Final = 224  # uint64[SPOTS, words]: the nodes at which something begins, see below
JUMP: Final = 225  # uint64[MOST_JUMPS, words]: the nodes at which a set of characters ends
JUMP_KEY: Final = 226  # int64[MOST_JUMPS, 3]: these sets: two words of ASCII, and of what else;
# first how many there are, the first being none
JUMP_AT: Final = 227  # int32[lexical states]: 0 unknown, NO_JUMP, or where in JUMP
JUMP_WORDS: Final = 228  # scalar: words of each of these
LEXICON: Final = 230  # the context of the lexicon's records, where its lock and the gallery's are
# held, else 0
# Of a walk:
REGION: Final = 231  # int32[max depth + 3, 5]: how many parts it is within, then these, see below
SPOTTED: Final = 232  # scalar: the trie node that it has just gone on to, or 0
# Of the vocabulary:
CHARS: Final = 233  # uint16[nodes]: the characters that have begun down to a node of its trie

SPOT_LIST: Final = 262  # int32: where the list of each ASCII character begins, and where the last
# ends; then, one list after another, the nodes at which each begins

# Of a walk of a bounded pattern:
BOUND_ROW: Final = 235  # uint32[words]: all tokens, but for those that it does not read,
BOUND_LEFT_OUT: Final = 236  # if this is not 0: what it reads was written down at once else
BOUND_UNREAD: Final = 237  # how many it does not read,
BOUND_FULL: Final = 238  # and whether that was less than half, the last time

FOREVER: Final = 264  # int64[lexical states, 2]: see `kernels.forever`; 0 unknown
FREE_AT: Final = 265  # int32[lexical states]: the same as JUMP_AT for the letters in it

NEED_JUMP: Final = -17  # WANT is a lexical state of which JUMP_AT is not known

# Rows of SPOT: an ASCII character; 32 such; what is no UTF-8, white space that is not ASCII, or any
# such character. All but the last but two begin where the bytes before are whole characters.
GROUP: Final = 128
BROKEN_SPOT: Final = 132
SPACED_SPOT: Final = 133
OTHER_SPOT: Final = 134
SPOTS: Final = 135

MOST_JUMPS: Final = 512
NO_JUMP: Final = -1

# Fields of a part of the trie that is jumped over: where it ends, where what is looked at within it
# ends, its state (below 0 where that is left, by letters of FOREVER), the row of JUMP, and its
# characters before the first of CHARS, or its depth.
R_END: Final = 0
R_UNTIL: Final = 1
R_STATE: Final = 2
R_JUMP: Final = 3
R_COUNT: Final = 4
R_WIDTH: Final = 5
