"""Layout of a lexer DFA's records, in flat arrays as in `kernels.layout`; see `kernels.records`."""

from typing import Final

# Scalars: used entries, then rooms.
RECORDS: Final = 0
SETS: Final = 1
PARTS: Final = 2
LINES: Final = 3
TOP: Final = 4  # length of LIST
STATES: Final = 5
EFFORT: Final = 6  # expressions derived in one call; limited, so that Python can be interrupted
BODIES: Final = 7  # bodies of rules, which Python makes when first needed
ROOMS: Final = 8  # the room of each of the above is at its slot + ROOMS
WANT: Final = 16  # the one of these that has reached its room, + 1
GENERATION: Final = 17  # of searches and queues
SPELLABLE: Final = 18  # the set of bytes that exist
BODILESS: Final = 19  # record of the rule whose body is missing
OPTIONS: Final = 20  # used entries of OPTION
SPENT: Final = 21  # EFFORT of rows that kernels made, not yet accounted for by Python

# Addresses.
RECORD: Final = 24  # int64[n, 16], see below
RECORD_HASH: Final = 25  # int32[2 * room]
SET: Final = 26  # int64[n, 4]
SET_HASH: Final = 27
PART: Final = 28  # int32[n]: options of alternatives, ascending
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
ABOUT: Final = 5  # flags, see below
GUESS: Final = 6  # guess of the fewest bytes of a text; also LEAST, MOST_OF
LINES_AT: Final = 7
LINES_END: Final = 8  # 0 until made
ARCS_AT: Final = 9
ARCS_END: Final = 10  # 0 until made
STATE: Final = 11  # its lexical state, or 0
MARK: Final = 12  # generation of the search that has visited it
CAME: Final = 13  # its predecessor
MET: Final = 14  # the record visited before it
QUEUED: Final = 15  # generation that has queued it

LEAST: Final = 21  # bit of GUESS where a lower bound of the bytes of a text begins
MOST_OF: Final = 42  # and an upper bound of its UTF-8 lead bytes; both at most FARTHEST
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
RULE: Final = 8  # number of the rule, whether it surely has a text, record of its body + 1

EMPTY: Final = 0
EPSILON: Final = 1
ANYTHING: Final = 2

# Flags of ABOUT.
NULLABLE: Final = 1
SURE: Final = 2  # it obviously has a text
ALIVE: Final = 4  # a text was found
DEAD: Final = 8  # it has no text
HARD: Final = 16  # part of an intersection that a short search could not decide

MOST: Final = (1 << 30) - 2  # greatest count; no text is that long

# Operations of `entry.lexemes`.
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
