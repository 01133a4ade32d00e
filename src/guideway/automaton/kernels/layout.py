"""Layout of the arrays that Python and the kernels share.

The context is an int64 array: scalars, then addresses of arrays. All arrays are flat: in T[n, k],
field f of record r is element r * k + f.
"""

from typing import Final

# Scalars: used records of each growing array.
NODES: Final = 0
STACKS: Final = 1
MACROS: Final = 2
CONFIGS: Final = 3
STEPS: Final = 4
FRAMES: Final = 5
BITS: Final = 6
TEXTS: Final = 7
EXTRAS: Final = 8
CURSOR: Final = 9  # trie node where an interrupted walk resumes
ACCEPT: Final = 10
# The missing resource when a kernel returns a code below 0.
WANT: Final = 11
# Rooms: allocated records of those arrays.
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
TRIE_FREE: Final = 22  # node where the next trie begins
UNSURE_COUNT: Final = 23  # whether any token is unsure
DOUBTFUL: Final = 24  # whether the closure met a DOUBT
BLUR: Final = 25  # whether captures forget their text, as in walks
GENERATION: Final = 26
CAPTURES: Final = 27  # whether there are CAPTURE nodes
FOUND: Final = 28  # number of configurations of the closure
TODO: Final = 29  # length of its work list
VISITED: Final = 30
WORK_ROOM: Final = 31
WANT_BELOW: Final = 32  # the trie node below which a state mask is missing
REACHED: Final = 33  # length of the work list of a mask
REACH_ROOM: Final = 34
REACH_VISITED: Final = 35
REACH_GENERATION: Final = 36
PICTURE_ROOM: Final = 37
KEY_TRIE: Final = 38  # key trie node of a key that is no node yet,
KEY_TEXT: Final = 39  # its text,
KEY_STATE: Final = 40  # its lexical state,
KEY_ESCAPE: Final = 41  # its escape
SCRAP: Final = 42  # subtrees with at most so many nodes are walked each time
MARKS: Final = 43  # whether there are MARK nodes; if so:
READ_TEXT: Final = 44  # text before the token of READ
AFTER_TEXT: Final = 45  # text after it
MARK_TEXT: Final = 46  # current text + 1, 0 if unknown
FEW: Final = 47  # state masks with at most so many tokens are listed

# Addresses. This constraint:
NODE: Final = 48  # int32[n, 6]: kind, and five fields
NODE_HASH: Final = 49  # int32[2 * room]
STACK: Final = 50  # int64[n]: node << 32 | parent
STACK_HASH: Final = 51
MACRO: Final = 52  # int32[n, 4]: first config, number of configs, accepts, unsure
MACRO_HASH: Final = 53
FIRST: Final = 54  # uint64[n, 4]: the bytes that may follow
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
UNSURE: Final = 73  # uint32[words]: tokens that READ has to check one by one
BEGUN: Final = 75  # int32[max depth + 2]: counted items at each depth; for state masks, counters
LEADS: Final = 76  # uint64[4]: first bytes of the closure's configurations
REACH_ITEM: Final = 77  # int64[n, 2]: config, and the trie node below which it reads
REACH_SEEN: Final = 78  # int64[n, 3]: those visited already, a hash of generations
KEY_WALK: Final = 79  # int32[max depth + 2, 5]: the key at each depth, and the trie node
TARGET: Final = 74  # int32[nodes]: translation of EXPR, RESUME and NAMED, + 1; 0 until translated
# The process:
LEX: Final = 80  # int32[n, 256]: 0 unknown, DEAD, or the state after a byte
LEX_FLAG: Final = 81  # uint8[n]
LEX_FIRST: Final = 82  # uint64[n, 4]
LEXICON: Final = 83  # context of the lexer DFA's records; 0 while its lock is not held
# The vocabulary:
TOKEN: Final = 88  # uint8[sum of lengths]
TOKEN_AT: Final = 89  # int64[tokens + 1]
TRIE_BYTE: Final = 90  # uint8[n], preorder; node 0 is the root of the vocabulary's trie
TRIE_DEPTH: Final = 91  # uint16[n]
TRIE_END: Final = 92  # int32[n]
TRIE_AT: Final = 93  # int32[n + 1]
TRIE_TOKEN: Final = 94  # int32[tokens]
TRIE_ROOT: Final = 95  # int32[256]
PICTURE_AT: Final = 96  # int32[lexical states]: 0 unknown, a state mask, or NO_PICTURE
BASE: Final = 97  # uint32[n, words]
PICTURE: Final = 98  # int32[n, 6], see below
EXIT: Final = 99  # int32[n, 2]: items before an exit, root of the trie of rests
PICTURE_KEY: Final = 103  # int64[2 * room]: trie node << 32 | lexical state
PICTURE_VALUE: Final = 105  # int32[2 * room]
HOLD: Final = 107  # uint64[nodes, 2]: ASCII bytes below a node of the vocabulary's trie
PART: Final = 108  # uint8[nodes]: flags of what else is below it, see `state_masks`
LOOP: Final = 109  # uint64[lexical states, 2]: ASCII bytes that lead from a state to itself
LOOPS: Final = 110  # uint8[lexical states]: flags, see `state_masks`
WIDE: Final = 106  # int64[n, 6]: set of bytes, root of the trie of exits that begin so, next or 0
LISTED: Final = 104  # int32[n]: tokens of listed state masks
ENDS: Final = 100  # uint32[words]: the end ids
EVERY: Final = 102  # uint32[words]: all tokens that have bytes
SHELF: Final = 111  # int32[2 * room]: hash table of kept rows; 0 or the number of a row
SHELF_CODE: Final = 112  # int64[n]: hash of a row
SHELF_ROW: Final = 113  # int64[n]: address of a row
SHELF_ROOM: Final = 114  # room for rows
ROW_CODE: Final = 115  # hash of the last mask
COUNT_AT: Final = 101  # int32[lexical states]: as PICTURE_AT, for states between counted items
# This constraint, for bounded patterns (`kernels.bounds`):
PAIR: Final = 128  # int64[n]: lexical state of a pattern << 32 | that of its characters
PAIR_HASH: Final = 129
LENGTH: Final = 130  # int32[n, L_ROW], see below
BOUND_WALK: Final = 131  # int32[max depth + 2, 3]: pair and character count at each depth
PAIRS: Final = 132  # scalars
PAIR_ROOM: Final = 133
SEARCH: Final = 134  # number of searches
SEARCH_LEVEL: Final = 135  # characters read
SEARCH_BETWEEN: Final = 136  # linked list of pairs for later
SEARCH_WITHIN: Final = 137  # linked list of the nearest pairs
SEARCH_BEST: Final = 138  # characters of the shortest text found, or -1
SEARCH_END: Final = 139  # the pair where it ends
LAST_STATE: Final = 142  # cache: the last pair, its fewest characters and L_STEADY
LAST_FEWEST: Final = 143
LAST_STEADY: Final = 144
FORKS: Final = 149  # number of lists of alternatives so far
# This constraint, with lookaheads (`kernels.shared_closures`, `kernels.liveness`):
LOOKS: Final = 150  # whether there are lookaheads
GUARDING: Final = 151  # guards of the configuration that is expanded, 0 if none
ANYTHING_STATE: Final = 152  # the lexical state of all texts
JUDGED: Final = 153  # int64[n]: node << 32 | stack
JUDGED_HASH: Final = 154
VERDICT: Final = 155  # int32[n, 4]: verdict, search that visited it, predecessor, next in its list
JUDGEMENTS: Final = 156  # scalars
JUDGED_ROOM: Final = 157
SEARCH_ROOT: Final = 158  # the place that is judged,
SEARCH_AT: Final = 159  # the place that is expanded,
SEARCH_BYTE: Final = 160  # the next byte to try from it
SEARCH_LAST: Final = 161  # last place in the queue
SEARCH_COUNT: Final = 162  # number of places in the queue
SEARCH_DOUBT: Final = 163  # whether anything was doubtful
SEARCH_TURN: Final = 164  # number of searches
SETTLED: Final = 165  # int32[nodes]: never leaves a guard behind: 0 unknown, 1 yes, 2 no
PENDING: Final = 166  # whether a mask is resumed from its work list
# This constraint, with Lark's automaton (`kernels.lalr`):
LALR: Final = 167  # int32[n]: tables, see below
LALR_WORK: Final = 168  # int32[n]: states that reductions push
LALR_DEPTH: Final = 169  # scalars: number of those states
LALR_REST: Final = 170  # the stack below them
LALRS: Final = 171  # whether there is any table
FOUND_IS: Final = 185  # uint8[room of SCRATCH]: verdicts of the closure's configurations
HEIGHT: Final = 188  # uint8[nodes]: height of the subtree of a node of the vocabulary's trie
BOUND_PLACE: Final = 189  # trie node where an interrupted walk of a bounded pattern resumes, or 0
BOUND_NODE: Final = 190  # its BOUNDED node << 32 | the trie node above
ASKED: Final = 191  # int32[room of SCRATCH]: places of the closure that have to be judged
ASKED_COUNT: Final = 192  # how many
ASKED_AT: Final = 193  # how many are done
ASIDE: Final = 201  # int64[room of SCRATCH]: the closure's configurations while they are judged
ASIDE_IS: Final = 202  # uint8[room of SCRATCH]: their verdicts
JUDGING: Final = 203  # whether such a judgement is in progress
SEARCH_LEADS: Final = 204  # uint64[4]: bytes that the search tries
SHORT: Final = 205  # scalar: limit of places for a search before the plain engine
CONTEXT_SIZE: Final = 279

# Operations of `entry.run`.
ENTER: Final = 5
READ: Final = 6
FILL: Final = 7
JUDGE: Final = 9
READ_EACH: Final = 10

# Return codes: what Python has to supply.
OK: Final = 0
FULL: Final = -1  # WANT is the slot of the count that has reached its room
NEED_NODE: Final = -2  # WANT is an EXPR, RESUME or NAMED node to translate
NEED_LEX: Final = -3  # WANT is a lexical state to expand; + OPTIONS_OF: to split
NEED_PICTURE: Final = -4  # WANT is a lexical state whose state mask is missing
NEED_COUNT: Final = -6  # as NEED_PICTURE, for counted items
NEED_EXITS: Final = -7  # WANT is a state mask that lacks the exits that begin with LEADS
NEED_JUDGE: Final = -10  # WANT is a place whose verdict is missing
NEED_SETTLED: Final = -11  # WANT is a node without SETTLED
NEED_SCANNER: Final = -12  # WANT is a SCAN node whose state has no ways yet

# Kinds of nodes, with their fields.
DEAD: Final = 0
NIL: Final = 1
LITERAL: Final = 2  # start in POOL, length, next node
LEXEME: Final = 3  # lexical state
SEQUENCE: Final = 4  # first node, second node
CHOICE: Final = 5  # start in EDGE, number of options
EXPR: Final = 6  # an expression, its flags (NULLABLE, SHARED); see TARGET
MARK: Final = 7  # template and argument index: end of a captured text
OPENED: Final = 8  # frame: after the opening brace
BEHIND: Final = 9  # frame: after a value
MEMBER: Final = 10  # frame: before a key
KEY: Final = 11  # frame, key trie node or -1, text, lexical state, escape
CAPTURE: Final = 12  # lexical state, text or -1, index of template and argument
RESUME: Final = 13  # index of template and argument, text or -1; see TARGET
DOUBT: Final = 14  # only steps byte by byte can decide
COUNTED: Final = 15  # lexical state, items still needed, still allowed or -1, state between items
NAMED: Final = 17  # indices of template, its state and a name: rest after the name; see TARGET
FORKED: Final = 18  # a stack, next FORKED or NIL: alternatives below a configuration
BOUNDED: Final = 16  # as COUNTED, for a pattern; then the state within a character, 0 between two
GUARDED: Final = 19  # a node, and its guards
GUARD: Final = 20  # lexical state, level, next GUARD or 0
AHEAD: Final = 21  # lexical state, level: adds a guard
STOP: Final = 22  # level: ends its guards
PLACE: Final = 23  # table, LINES, start in EDGE of states and margins, how many, LINE or 0
SCAN: Final = 24  # table, state, LINES, whether the text must not end here
TOOK: Final = 25  # table, terminal or IGNORED, LINES; two more fields: see LEXER
READ_STATE: Final = 26  # table, state, margin, the stack below the lowest state
LINE: Final = 27  # lexical state, columns or -1, lexical state of what follows, tab width,
# and 0, or that every newline in it may begin any line:
FREE_LINE: Final = 1  # and text follows
LAST_LINE: Final = 2  # and only the end follows
LINED: Final = 28  # table, LINES, columns
LINES: Final = 29  # open brackets, width of the innermost block, LINES of the outer ones or 0
CLEAR: Final = 30  # whether the end is accepted under guards too
MEMBERS: Final = 31  # frame: its MEMBER, and that of each class of undeclared keys
WORDS: Final = 33  # object, key trie node: rest of one of its names

# Verdicts.
V_UNKNOWN: Final = 0
V_ALIVE: Final = 1
V_DEAD: Final = 2
V_DOUBT: Final = 3
V_SEARCH: Final = 4  # Python cannot decide

# Fields of OBJECT.
O_WORDS: Final = 0  # uint64 words of a set of names
O_NAMES: Final = 1  # number of names
O_NAME: Final = 2  # first row in NAME
O_KEYS: Final = 3  # root in KEYS
O_OTHER: Final = 4  # node of the value of undeclared keys, DEAD if not allowed
O_ORDERED: Final = 5
O_COMMA: Final = 6  # nodes
O_CLOSING: Final = 7
O_COLON: Final = 8  # NIL in arrays of different strings
O_START: Final = 9  # lexical state at the first byte of a key
O_QUOTED: Final = 10  # lexical state before its quote
O_PLAIN: Final = 11  # only necessary escapes are allowed
O_BARE: Final = 12  # whether the value of a name includes the colon and the rest
O_CLASS: Final = 13  # first OBJECT row of its classes of undeclared keys
O_COUNTS: Final = 13  # for different strings: least count | (greatest count + 1) << 16
O_CLASSES: Final = 14  # number of those classes, 0 if O_OTHER is enough
O_OF_CLASS: Final = 15  # whether it is a class; frames then have the object's frame as position

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
P_BASE: Final = 0  # row in BASE, -1 if listed; for counts, the first of several
P_LISTED: Final = 1  # tokens in LISTED: from, to
P_EXITS: Final = 3  # root of the trie of rests of tokens outside; 0: none; or WIDE_EXITS
P_WIDE: Final = 4  # first in WIDE: tries of exits by first bytes
P_DOUBTS: Final = 5  # index in LISTED, after their number: trie nodes with unsure tokens; or 0
P_MOST: Final = 1  # for counts: items of the last of its rows
P_EXIT: Final = 4  # for counts: exits in EXIT: from, to; P_EXITS has all
CLOSED: Final = 0  # field of state mask 0: whether there is no room for more

# Fields of LENGTH: characters that a text from a pair must still begin, + 1; 0 unknown.
L_EXACT: Final = 0
L_SINGLE: Final = 1  # the same for characters of one byte: an upper bound
L_STEADY: Final = 2  # whether each greater length is possible too: for L_EXACT, for L_SINGLE
L_SEEN: Final = 4  # last search that visited it,
L_PARENT: Final = 5  # its predecessor,
L_LINK: Final = 6  # next pair in its list
ENDLESS: Final = 1 << 30  # length if there is no text

# Fields of a table of LALR.
T_TERMINALS: Final = 0  # number of terminals; the last is the end of the text
T_END: Final = 1  # top state when all is read
T_NEWLINE: Final = 2  # terminals, -1 if lines are not indented
T_INDENT: Final = 3
T_DEDENT: Final = 4
T_TAB: Final = 5
T_FREE: Final = 6  # node after which every stack has a text to the end; 0: unknown
T_DEPTH: Final = 7  # more states than reductions push, except in endless loops
T_ACTION: Final = 8  # index in LALR: per state, a row by terminal: state + 1, or -1 - production
T_GOTO: Final = 9  # index: per state, a row by rule: next state + 1
T_PRODUCTION: Final = 10  # index: per production, its length and rule
T_BRACKET: Final = 11  # index: per terminal, change of open brackets, or an item's width + 1
T_SCANNER: Final = 12  # index: per state, first way in EDGE + 1 (0 unknown), number of ways
T_LEVEL: Final = 13  # guard level of its lookaheads
T_REACHED: Final = 14  # a CLEAR node that accepts under guards
T_LINE: Final = 15  # as T_FREE, where a newline may follow; 0 if lines are not indented
T_MORE: Final = 16  # T_REACHED after one more byte
T_FIELDS: Final = 19
# A row is three numbers: index in LALR of column 0, first column, end of columns; other columns are
# 0. A way is four numbers: a node; the terminal or IGNORED; EVERYWHERE, OUTSIDE or INSIDE; a node
# as T_FREE for one of its texts, or 0. Two nodes are in EDGE before the first way: T_REACHED after
# any first byte, outside and inside brackets; -1 until requested.
EVERYWHERE: Final = 0
OUTSIDE: Final = 1  # of brackets
INSIDE: Final = 2
IGNORED: Final = -1

# Flags of lexical states.
ACCEPTS: Final = 1
GOES_ON: Final = 2
EXPANDED: Final = 4
DOUBTS: Final = 8  # the rest depends on a text that was not kept

DEAD_END: Final = -1
NO_PICTURE: Final = -1
WIDE_EXITS: Final = -1
MANY_EXITS: Final = 1 << 24
UNKNOWN_TEXT: Final = -1
MARKED: Final = 2  # unlike doubt 1: a text read by MARK is unknown
CLOSE_BRACE: Final = 2  # the node of "}"
QUOTE_BYTE: Final = 0x22
NEWLINE_BYTE: Final = 0x0A
TAB_BYTE: Final = 0x09
BLANK_BYTE: Final = 0x20
BACKSLASH: Final = 0x5C

ENTERED: Final = 273  # int64[room of SCRATCH]: ENTRY node << 32 | a stack that it was entered on
ENTRIES: Final = 274  # how many

# Entries of closures (`kernels.shared_closures`). Flags in the second field of an EXPR node:
NULLABLE: Final = 1  # it accepts the empty text
SHARED: Final = 2  # it may be entered once for all that follows it in a closure

# Kind of node: an EXPR, 0, guards: end of that expression; or a node, the ENTRY below it.
ENTRY: Final = 32

# Lexer masks of lexers of Lark's automaton (`kernels.fill`):
OUTLOOK: Final = 206  # int64[n]: trie node << 32 | macro state
OUTLOOK_HASH: Final = 207
OUTLOOK_AT: Final = 208  # int32[n, 4], see below
OUTLOOKS: Final = 209  # scalars
OUTLOOK_ROOM: Final = 210
SEEN_LIST: Final = 211  # int32[n]: ranges of tokens or a row; number of exits, and exits
SEEN_LISTED: Final = 212  # scalars
SEEN_LIST_ROOM: Final = 213
LEFT_BY: Final = 214  # int64[n, 3]: of a new lexer mask: config, number of trie nodes, the last
LEFT_AT: Final = 215  # int64[n]: previous of the same config << 32 | trie node
LEAVINGS: Final = 216  # scalars
LEAVING_ROOM: Final = 217
# Cache of line checks, by stack and TOOK, as each byte of a line needs them:
FITTED: Final = 218  # whether any line may follow
FITTED_IS: Final = 219
WIDENED: Final = 220  # whether a block may begin
WIDENED_IS: Final = 221

# Code for Python:
NEED_TRIE: Final = -13  # WANT is the index in SEEN_LIST of an exit without a trie
# Codes that `entry` serves:
NEED_LEXER: Final = -14  # WANT is a LEXES node without its TARGET
NEED_STEP: Final = -15  # WANT is the macro state of a lexer, WANT_BELOW a byte
NEED_OUTLOOK: Final = -16  # WANT is a macro state of a lexer, WANT_BELOW a trie node

# More fields of a table of LALR.
T_WORDS: Final = 17  # words of a set of terminals
T_SETS: Final = 18  # index: per state, terminals that it shifts, and those of each reduction

# Fields of OUTLOOK_AT.
S_TOKENS: Final = 0  # index in SEEN_LIST
S_RANGES: Final = 1  # number of ranges (from, to in TRIE_TOKEN), or WHOLE_ROW
S_EXITS: Final = 2  # index in SEEN_LIST
S_KNOWN: Final = 3
WHOLE_ROW: Final = -1
# An exit: a node and a stack of the macro state; the root of a trie of rests, or 0, MANY_NODES
# (still to be made) or NO_PICTURE (no room); the number of trie nodes, and these.
X_NODE: Final = 0
X_STACK: Final = 1
X_ROOT: Final = 2
X_COUNT: Final = 3
X_NODES: Final = 4
MANY_NODES: Final = -2

V_APART: Final = 5  # verdict: it depends on the LALR states

# Kinds of nodes, with their fields. In a macro state of terminals an IGNORED TOOK also has a node
# as T_FREE for a text that is accepted there, or 0, and whether it is INSIDE.
LEXER: Final = 41  # macro state, table, LINES: terminals that are being lexed
APART: Final = 42  # a node of such a macro state whose verdict depends on the LALR states
LEXES: Final = 43  # SETS of terminals, first way, ways * 4 + where, guards, table; see TARGET
SETS: Final = 44  # four words of a set, the next SETS or 0

# Lengths of bounded patterns (`kernels.bounds`). This constraint:
SPLITTING: Final = 269  # whether searches split states into options, since one took long

# The vocabulary:
BOUND_SEARCH: Final = 270  # scalar: pairs that a search expands before it is SPLITTING

# The lexer DFA, see `kernels.lexer_states`:
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
