"""What stands where in the arrays of a lexicon's records; see `kernels.records`.

A lexicon has a context of its own. All arrays are flat, as `kernels.layout` says.
"""

from typing import Final

# Scalars: how much is used, and how much room there is.
RECORDS: Final = 0
SETS: Final = 1
PARTS: Final = 2
LINES: Final = 3
TOP: Final = 4  # of LIST
STATES: Final = 5
EFFORT: Final = 6  # of one call: expressions derived, so that Python can be interrupted
BODIES: Final = 7  # of rules, which Python makes when they are first needed
ROOMS: Final = 8  # the room of each of these stands so much further on
WANT: Final = 16  # what of these has reached its room, plus one
GENERATION: Final = 17  # of marks
SPELLABLE: Final = 18  # the set of bytes that exist
BODILESS: Final = 19  # the record of the rule whose body is needed
OPTIONS: Final = 20  # how much of OPTION is used
SPENT: Final = 21  # EFFORT of kernels that made rows by themselves, which nobody has paid for

# Addresses.
RECORD: Final = 24  # int64[n, 16], see below
RECORD_HASH: Final = 25  # int32[2 * room]
SET: Final = 26  # int64[n, 4]
SET_HASH: Final = 27
PART: Final = 28  # int32[n]: the options of alternatives, ascending
LINE: Final = 29  # int64[n]: set << 32 | record after one of its bytes
LIST: Final = 30  # int64[n]
ROWS: Final = 31  # int32[states, 256]: see layout.LEX
FLAG: Final = 32  # uint8[states]
FIRSTS: Final = 33  # int64[states, 4]
STATE_RECORD: Final = 34  # int32[states]
OPTION_AT: Final = 35  # int32[states]: see layout.LEX_OPTION_AT
OPTION: Final = 36  # int32[OPTIONS_ROOM]
SLOTS: Final = 40

# Fields of records.
WIDTH: Final = 16
KIND: Final = 0
A: Final = 1
B: Final = 2
C: Final = 3
HASH: Final = 4
ABOUT: Final = 5  # what is known of it, see below
GUESS: Final = 6  # how many bytes a text of it may have at least, a guess; and see LEAST, MOST
LINES_AT: Final = 7
LINES_END: Final = 8  # 0 until made
ARCS_AT: Final = 9
ARCS_END: Final = 10  # 0 until made
STATE: Final = 11  # its lexical state, or 0
MARK: Final = 12  # the generation of the search that has met it
CAME: Final = 13  # from which record
MET: Final = 14  # which record was met before it
QUEUED: Final = 15  # the generation that has it in its queue

LEAST: Final = 21  # bit of GUESS, from which on is how many bytes a text of it has at least,
MOST_OF: Final = 42  # and how many at most that begin a character of UTF-8; both at most FARTHEST
FARTHEST: Final = 1 << 20

# Kinds, with A, B and C. The order is that of the constants below.
EMPTY_KIND: Final = 0
EPSILON_KIND: Final = 1
NOT: Final = 2  # record
BYTES: Final = 3  # set
CONCAT: Final = 4  # head, tail
ALT: Final = 5  # start in PART, number of options
REPEAT: Final = 6  # record, low, high or -1
AND: Final = 7  # two records, ascending
RULE: Final = 8  # number of the rule, whether it surely has a text, record of its body plus one

EMPTY: Final = 0
EPSILON: Final = 1
ANYTHING: Final = 2

# What is known of a record.
NULLABLE: Final = 1
SURE: Final = 2  # it has a text, as can be seen
ALIVE: Final = 4  # it has a text, as was found
DEAD: Final = 8  # it has none
HARD: Final = 16  # a part of a meet, and a short search does not tell

MOST: Final = (1 << 30) - 2  # a count beyond it cannot be read to its end by anybody

# What `entry.lexemes` can be asked for.
WRITE: Final = 0
NUMBER: Final = 1
EXPAND: Final = 2
IS_CODE: Final = 3
REHASH_RECORDS: Final = 4
IS_ALIVE: Final = 5
IS_OPEN: Final = 6
IS_SMALL: Final = 7
SPLIT: Final = 8

OPTIONS_ROOM: Final = 1 << 22
