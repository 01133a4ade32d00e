"""What stands where of what masks are made of: see `layout`, whose context this is."""

from typing import Final

# Of this constraint:
RECIPE: Final = 240  # int64[MOST_PARTS]: the parts of the mask that is being made, see below,
PARTS: Final = 241  # scalars: how many they are, WRITTEN if it is being written to a row,
RECIPE_CODE: Final = 242  # and their hash, when they are all
# Of the shelf:
KNOWN: Final = 243  # int32[2 * KNOWN_ROOM]: 0, or the number of a recipe
KNOWN_AT: Final = 244  # int64[n, 4]: its hash, where its parts are, how many, and the row
KNOWN_PARTS: Final = 245  # int64[n]
KNOWN_USED: Final = 246  # int64[2]: recipes and parts there are; there is no recipe 0
KNOWN_ROOM: Final = 247  # scalars: how many recipes there may be,
KNOWN_PARTS_ROOM: Final = 248  # and parts

MOST_PARTS: Final = 128  # of a mask that is not written at once
WRITTEN: Final = -1

LEARN: Final = 10  # what `entry.build` can be asked for beside others

# A part is its kind and two numbers of 28 bits.
TOKENS: Final = 0  # at the trie nodes from the first number to the last
NO_TOKENS: Final = 1  # which these are taken out of again
PICTURED: Final = 2  # of a picture that lists them
BASED: Final = 3  # of a row of BASE
ENDED: Final = 4  # the end ids
KIND_BIT: Final = 56
FIRST_BIT: Final = 28
NUMBER: Final = (1 << 28) - 1
