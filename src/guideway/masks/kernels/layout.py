"""What stands where in the arrays that Python and the kernels share.

The context is one int64 array: first the scalars, then the addresses of the arrays. All arrays are
flat: where one is said to be T[n, k], field f of record r is element r * k + f.
"""

from typing import Final

# Scalars: how much of each growing array is used.
NODES: Final = 0
STACKS: Final = 1
MACROS: Final = 2
CONFIGS: Final = 3
STEPS: Final = 4
FRAMES: Final = 5
BITS: Final = 6
TEXTS: Final = 7
EXTRAS: Final = 8
CURSOR: Final = 9  # where an interrupted walk goes on
ACCEPT: Final = 10
# What a kernel asks for when it returns a code below zero.
WANT: Final = 11
# Sizes.
NODE_ROOM: Final = 12
STACK_ROOM: Final = 13
MACRO_ROOM: Final = 14
CONFIG_ROOM: Final = 15
STEP_ROOM: Final = 16
FRAME_ROOM: Final = 17
BIT_ROOM: Final = 18
TEXT_ROOM: Final = 19
EXTRA_ROOM: Final = 20
ROW_WORDS: Final = 21
TRIE_FREE: Final = 22  # where the next trie begins
UNSURE_COUNT: Final = 23  # whether any token is unsure
DOUBTFUL: Final = 24  # whether the closure met a DOUBT
BLUR: Final = 25  # whether captures forget what they read, as walks need
GENERATION: Final = 26
CAPTURES: Final = 27  # whether there are any
FOUND: Final = 28  # configurations of the closure
TODO: Final = 29  # places on its work list
VISITED: Final = 30
WORK_ROOM: Final = 31
WANT_BELOW: Final = 32  # the trie node below which a picture is missing
REACHED: Final = 33  # places on the work list of a mask
REACH_ROOM: Final = 34
REACH_VISITED: Final = 35
REACH_GENERATION: Final = 36
PICTURE_ROOM: Final = 37
KEY_TRIE: Final = 38  # a key that is read without being a node: its key trie node,
KEY_TEXT: Final = 39  # text,
KEY_STATE: Final = 40  # lexical state,
KEY_ESCAPE: Final = 41  # and escape
SCRAP: Final = 42  # so few nodes below one of a trie are walked each time
MARKS: Final = 43  # whether there are any MARK nodes: then READ begins with
READ_TEXT: Final = 44  # a text, ends with
AFTER_TEXT: Final = 45  # a text, and the one at the moment is
MARK_TEXT: Final = 46  # this, plus one; 0 if it is not known
FEW: Final = 47  # so few tokens of a picture are listed

# Addresses. Of this constraint:
NODE: Final = 48  # int32[n, 6]: kind, and five fields
NODE_HASH: Final = 49  # int32[2 * room]
STACK: Final = 50  # int64[n]: node << 32 | parent
STACK_HASH: Final = 51
MACRO: Final = 52  # int32[n, 4]: first config, number of configs, accepts, unsure
MACRO_HASH: Final = 53
FIRST: Final = 54  # uint64[n, 4]: the bytes that lead on
CONFIG: Final = 55  # int64[n]: node << 32 | stack
STEP_KEY: Final = 56  # int64[2 * room]: (macro << 9 | blur << 8 | byte) + 1
STEP_VALUE: Final = 57  # int32[2 * room]
EDGE: Final = 58  # int32[n]: options of alternatives
POOL: Final = 59  # uint8[n]: literals and names
FRAME: Final = 60  # int32[n, 6]: object, position, extras, required keys missing, bits, others
FRAME_HASH: Final = 61
BIT: Final = 62  # uint64[n]: which names may come, by rank
TEXT: Final = 63  # int64[n]: parent << 32 | byte
TEXT_HASH: Final = 64
EXTRA: Final = 65  # int64[n]: text << 32 | rest, ascending texts
EXTRA_HASH: Final = 66
OBJECT: Final = 67  # int32[n, 16], see below
NAME: Final = 68  # int32[n, 6], see below
KEYS: Final = 69  # int32[n, 6]: the key tries, see below
SCRATCH: Final = 70  # int64[n]: configs of a closure, then its work list
SEEN: Final = 71  # int64[n]: visited configs of a closure, a hash of generations
WALK: Final = 72  # int32[max depth + 2]: the macro state at each depth
UNSURE: Final = 73  # uint32[words]: tokens to be stepped one by one
BEGUN: Final = 75  # int32[max depth + 2]: counted items at each depth; of a picture, its numbers
LEADS: Final = 76  # uint64[4]: the bytes that a closure's configurations begin with
REACH_ITEM: Final = 77  # int64[n, 2]: config, and the trie node below which it reads
REACH_SEEN: Final = 78  # int64[n, 3]: those met already, a hash of generations
KEY_WALK: Final = 79  # int32[max depth + 2, 5]: the key at each depth, and the trie node
TARGET: Final = 74  # int32[nodes]: what EXPR, RESUME and NAMED are, plus one; 0 until translated
# Of the process:
LEX: Final = 80  # int32[n, 256]: 0 unknown, DEAD, or the state after a byte
LEX_FLAG: Final = 81  # uint8[n]
LEX_FIRST: Final = 82  # uint64[n, 4]
LEXICON: Final = 83  # the context of the lexicon's records; 0 where its lock is not held
# Of the vocabulary:
TOKEN: Final = 88  # uint8[sum of lengths]
TOKEN_AT: Final = 89  # int64[tokens + 1]
TRIE_BYTE: Final = 90  # uint8[n], preorder; node 0 is the root of the vocabulary's trie
TRIE_DEPTH: Final = 91  # uint16[n]
TRIE_END: Final = 92  # int32[n]
TRIE_AT: Final = 93  # int32[n + 1]
TRIE_TOKEN: Final = 94  # int32[tokens]
TRIE_ROOT: Final = 95  # int32[256]
PICTURE_AT: Final = 96  # int32[lexical states]: 0 unknown, a picture, or NO_PICTURE
BASE: Final = 97  # uint32[n, words]
PICTURE: Final = 98  # int32[n, 6], see below
EXIT: Final = 99  # int32[n, 2]: items read before an exit, root of the trie of what is then left
PICTURE_KEY: Final = 103  # int64[2 * room]: trie node << 32 | lexical state
PICTURE_VALUE: Final = 105  # int32[2 * room]
HOLD: Final = 107  # uint64[nodes, 2]: the ASCII bytes below a node of the vocabulary's trie
PART: Final = 108  # uint8[nodes]: what else is below it, see `skips`
LOOP: Final = 109  # uint64[lexical states, 2]: the ASCII bytes that lead from a state to itself
LOOPS: Final = 110  # uint8[lexical states]: whether LOOP is known, and more, see `skips`
WIDE: Final = 106  # int64[n, 6]: set of bytes, root of the trie of exits that begin so, next or 0
LISTED: Final = 104  # int32[n]: tokens of pictures with few
ENDS: Final = 100  # uint32[words]: the end ids
EVERY: Final = 102  # uint32[words]: all tokens that have bytes
SHELF: Final = 111  # int32[2 * room]: 0, or the number of a row that is kept once
SHELF_CODE: Final = 112  # int64[n]: its hash
SHELF_ROW: Final = 113  # int64[n]: its address
SHELF_ROOM: Final = 114  # how many there may be
ROW_CODE: Final = 115  # the hash of the last mask
COUNT_AT: Final = 101  # int32[lexical states]: as PICTURE_AT, of states between counted items
# Of this constraint, for bounded patterns (`kernels.bounds`):
PAIR: Final = 128  # int64[n]: lexical state of a pattern << 32 | of what its characters are
PAIR_HASH: Final = 129
LENGTH: Final = 130  # int32[n, 8], see below
BOUND_WALK: Final = 131  # int32[max depth + 2, 3]: a pair and the characters at each depth
PAIRS: Final = 132  # scalars
PAIR_ROOM: Final = 133
SEARCH: Final = 134  # how many searches there have been
SEARCH_LEVEL: Final = 135  # characters read
SEARCH_BETWEEN: Final = 136  # pairs that wait for later, linked,
SEARCH_WITHIN: Final = 137  # and those nearest
SEARCH_BEST: Final = 138  # characters of the shortest text found, or -1,
SEARCH_END: Final = 139  # and the pair where it ends
LAST_STATE: Final = 142  # the pair that was looked at last, and what is known of it
LAST_FEWEST: Final = 143
LAST_STEADY: Final = 144
FORKS: Final = 149  # how many lists of alternatives have been made
# Of this constraint, where something is looked ahead for (`kernels.guards`, `kernels.verdicts`):
LOOKS: Final = 150  # whether anything is
GUARDING: Final = 151  # the guards of the configuration that is looked at, 0 if there are none
ANYTHING_STATE: Final = 152  # the lexical state of all texts
JUDGED: Final = 153  # int64[n]: node << 32 | stack
JUDGED_HASH: Final = 154
VERDICT: Final = 155  # int32[n, 4]: verdict, by which search met, from where, next in its list
JUDGEMENTS: Final = 156  # scalars
JUDGED_ROOM: Final = 157
SEARCH_ROOT: Final = 158  # the place that is being judged,
SEARCH_AT: Final = 159  # and the one that is read on from,
SEARCH_BYTE: Final = 160  # by which byte;
SEARCH_LAST: Final = 161  # the last that was met,
SEARCH_COUNT: Final = 162  # of how many;
SEARCH_DOUBT: Final = 163  # whether anything was doubtful
SEARCH_TURN: Final = 164  # how many such searches there have been
SETTLED: Final = 165  # int32[nodes]: whether it is read without leaving a guard; 0 unknown, 1, 2 no
PENDING: Final = 166  # whether a mask goes on with what is on its work list
# Of this constraint, where Lark's automaton reads (`kernels.lalr`):
LALR: Final = 167  # int32[n]: tables, see below
LALR_WORK: Final = 168  # int32[n]: states that a reduction has put on a stack
LALR_DEPTH: Final = 169  # scalars: how many they are,
LALR_REST: Final = 170  # and the stack below them
LALRS: Final = 171  # whether there is any table
FOUND_IS: Final = 185  # uint8[room of SCRATCH]: verdicts of what the closure has found
HEIGHT: Final = 188  # uint8[nodes]: the longest way down from a node of the vocabulary's trie
BOUND_PLACE: Final = 189  # where an interrupted walk of a bounded pattern goes on, 0 if none is,
BOUND_NODE: Final = 190  # and of which node, below which trie node
ASKED: Final = 191  # int32[room of SCRATCH]: places of what the closure has found, to be judged,
ASKED_COUNT: Final = 192  # so many,
ASKED_AT: Final = 193  # those before this one being done
ASIDE: Final = 201  # int64[room of SCRATCH]: what the closure has found, while it is judged,
ASIDE_IS: Final = 202  # uint8[room of SCRATCH]: and what is known of it
JUDGING: Final = 203  # whether it is
SEARCH_LEADS: Final = 204  # uint64[4]: the bytes by which the search reads on
SHORT: Final = 205  # scalar: places of a search that comes before the plain engine
CONTEXT_SIZE: Final = 279

# What `entry.run` can be asked for.
ENTER: Final = 5
READ: Final = 6
FILL: Final = 7
JUDGE: Final = 9
READ_EACH: Final = 10

# Codes: what to serve.
OK: Final = 0
FULL: Final = -1  # WANT is the slot of the count that has reached its room
NEED_NODE: Final = -2  # WANT is an EXPR, RESUME or NAMED node to translate
NEED_LEX: Final = -3  # WANT is a lexical state to expand; if OPTIONS_OF more, to split
NEED_PICTURE: Final = -4  # WANT is a lexical state whose picture is missing
NEED_COUNT: Final = -6  # the same for counted items
NEED_EXITS: Final = -7  # WANT is a picture of whose exits those are missing that begin with LEADS
NEED_JUDGE: Final = -10  # WANT is a place whose verdict is missing
NEED_SETTLED: Final = -11  # WANT is a node of which SETTLED is not known
NEED_SCANNER: Final = -12  # WANT is a SCAN node of whose state the terminals are missing

# Kinds of nodes, with their fields.
DEAD: Final = 0
NIL: Final = 1
LITERAL: Final = 2  # start in POOL, length, next node
LEXEME: Final = 3  # lexical state
SEQUENCE: Final = 4  # first node, second node
CHOICE: Final = 5  # start in EDGE, number of options
EXPR: Final = 6  # an expression, what it says of it (`entry_layout`); see TARGET
MARK: Final = 7  # index of template and argument: what is captured, of which texts know, ends here
OPENED: Final = 8  # frame: behind the opening brace
BEHIND: Final = 9  # frame: behind a value
MEMBER: Final = 10  # frame: before a key
KEY: Final = 11  # frame, key trie node or -1, text, lexical state, escape
CAPTURE: Final = 12  # lexical state, text or -1, index of template and argument
RESUME: Final = 13  # index of template and argument, text or -1; see TARGET
DOUBT: Final = 14  # only steps through the bytes can tell
COUNTED: Final = 15  # lexical state, items still needed, still allowed or -1, state between items
NAMED: Final = 17  # indices of template, its state and a name: what follows that; see TARGET
FORKED: Final = 18  # a stack, the next FORKED or NIL: alternatives below a configuration
BOUNDED: Final = 16  # the same, of a pattern, and the state within a character, 0 between two
GUARDED: Final = 19  # a node, and its guards
GUARD: Final = 20  # lexical state, level, next GUARD or 0
AHEAD: Final = 21  # lexical state, level: from here on a guard
STOP: Final = 22  # level: the guards of it end here
PLACE: Final = 23  # table, LINES, start in EDGE of states and margins, how many, LINE or 0
SCAN: Final = 24  # table, state, LINES, whether the text must not end here
TOOK: Final = 25  # table, terminal or IGNORED, LINES; if IGNORED, in a lexer a node as T_FREE, too,
# of a text that is accepted there, or 0, and whether it is INSIDE of brackets
READ_STATE: Final = 26  # table, state, margin, the stack below the lowest state
LINE: Final = 27  # lexical state, columns or -1, lexical state of what follows, width of tabs, and
# whether each newline in it is the beginning of any line
FREE_LINE: Final = 1  # it is,
LAST_LINE: Final = 2  # and nothing but the end follows
LINED: Final = 28  # table, LINES, columns
LINES: Final = 29  # open brackets, width of the innermost block, LINES of those around it or 0
CLEAR: Final = 30  # the end, if there are no guards; or whether that does not matter
MEMBERS: Final = 31  # frame: MEMBER of it, and of each class of undeclared keys
WORDS: Final = 33  # object, node of its key trie: what is left of one of its names

# Verdicts.
V_UNKNOWN: Final = 0
V_ALIVE: Final = 1
V_DEAD: Final = 2
V_DOUBT: Final = 3
V_SEARCH: Final = 4  # Python cannot tell

# Fields of OBJECT.
O_WORDS: Final = 0  # uint64 words of a set of names
O_NAMES: Final = 1  # number of names
O_NAME: Final = 2  # first row in NAME
O_KEYS: Final = 3  # root in KEYS
O_OTHER: Final = 4  # node of the value of undeclared keys, DEAD if there may be none
O_ORDERED: Final = 5
O_COMMA: Final = 6  # nodes
O_CLOSING: Final = 7
O_COLON: Final = 8  # NIL in arrays of different strings
O_START: Final = 9  # lexical state at the first byte of a key
O_QUOTED: Final = 10  # lexical state before its quote
O_PLAIN: Final = 11  # escapes only where they must be
O_BARE: Final = 12  # whether the value of a name stands for its colon and the rest, too
O_CLASS: Final = 13  # the first row of its classes of undeclared keys, where there are several
O_COUNTS: Final = 13  # or, of different strings, how many come at least, and 2^16 times one more
# than there may be
O_CLASSES: Final = 14  # or not all keys are in one: how many; the first object itself has no others
O_OF_CLASS: Final = 15  # whether it is one, whose frames have that of the object as position

# Fields of NAME, by rank (names sorted by their UTF-8).
N_AT: Final = 0  # in POOL
N_LENGTH: Final = 1
N_VALUE: Final = 2  # node, DEAD if the property can have no value
N_REQUIRED: Final = 3
N_INDEX: Final = 4  # rank → declared index
N_RANK: Final = 5  # declared index → rank

# Fields of KEYS.
K_BYTE: Final = 0
K_LOW: Final = 1  # ranks of the names below: [low, high)
K_HIGH: Final = 2
K_DEPTH: Final = 3
K_CHILD: Final = 4  # first child; children are neighbours
K_CHILDREN: Final = 5

# Fields of PICTURE.
P_BASE: Final = 0  # row in BASE, -1 if its tokens are listed; for counts, the first of several
P_LISTED: Final = 1  # tokens in LISTED: from, to
P_EXITS: Final = 3  # root of the trie of what is left of tokens outside; 0: none are; or WIDE_EXITS
P_WIDE: Final = 4  # first in WIDE, of tries of exits by what they begin with
P_DOUBTS: Final = 5  # in LISTED, behind their number: trie nodes where the tokens are unsure; or 0
P_MOST: Final = 1  # for counts, the items of the last of its rows,
P_EXIT: Final = 4  # and exits in EXIT: from, to; P_EXITS is of all
CLOSED: Final = 0  # of picture 0: whether there is no room for more

# Fields of LENGTH: of a pair, the characters that a text must still begin, plus one; 0 unknown.
L_EXACT: Final = 0
L_SINGLE: Final = 1  # found among characters of one byte: no less than that
L_STEADY: Final = 2  # whether each greater number is possible too: of L_EXACT, of L_SINGLE
L_SEEN: Final = 4  # by which search,
L_PARENT: Final = 5  # from where,
L_LINK: Final = 6  # and what comes next in its list
ENDLESS: Final = 1 << 30  # characters of a text that is none

# Fields of a table of LALR.
T_TERMINALS: Final = 0  # how many, the end of the text being the last
T_END: Final = 1  # the state on top when all is read
T_NEWLINE: Final = 2  # terminals, -1 if lines are not indented
T_INDENT: Final = 3
T_DEDENT: Final = 4
T_TAB: Final = 5
T_FREE: Final = 6  # a node: behind it each stack has a text to the end; 0: that is not known
T_DEPTH: Final = 7  # more states than a reduction puts on a stack, unless without end
T_ACTION: Final = 8  # where in LALR: for each state the row of its terminals, with the next state
T_GOTO: Final = 9  # plus one or a production as -1 - n; of its rules, with the next state plus one;
T_PRODUCTION: Final = 10  # for each production its length and rule;
T_BRACKET: Final = 11  # for each terminal, what it adds to open brackets, or an item's width + 1;
T_SCANNER: Final = 12  # for each state, the first of its ways in EDGE plus one, 0 unknown, how many
T_LEVEL: Final = 13  # at which it looks ahead
T_REACHED: Final = 14  # a CLEAR node that does not ask for guards
T_LINE: Final = 15  # as T_FREE, where a newline may follow; 0 if lines are not indented
T_MORE: Final = 16  # T_REACHED behind one more byte
T_FIELDS: Final = 19
# A row is three numbers: where in LALR its first column would be, and the columns that it has, the
# first and the one behind the last; in all others there is 0.
# A way is four numbers: a node, the terminal or IGNORED, where it is one, and a node as T_FREE of
# one of its texts, or 0. Two nodes are in EDGE before the first: T_REACHED behind any byte with
# which something may begin, outside and inside of brackets; -1 where nobody has asked.
EVERYWHERE: Final = 0
OUTSIDE: Final = 1  # of brackets
INSIDE: Final = 2
IGNORED: Final = -1

# Flags of lexical states.
ACCEPTS: Final = 1
GOES_ON: Final = 2
EXPANDED: Final = 4
DOUBTS: Final = 8  # what follows depends on a text that nobody has kept

DEAD_END: Final = -1
NO_PICTURE: Final = -1
WIDE_EXITS: Final = -1
MANY_EXITS: Final = 1 << 24
UNKNOWN_TEXT: Final = -1
MARKED: Final = 2  # instead of 1 for a doubt: what is unsure is what a MARK has read
CLOSE_BRACE: Final = 2  # the node of "}"
QUOTE_BYTE: Final = 0x22
NEWLINE_BYTE: Final = 0x0A
TAB_BYTE: Final = 0x09
BLANK_BYTE: Final = 0x20
BACKSLASH: Final = 0x5C
