"""What stands where of what lexers see: see `layout`, whose context this is, and `outlooks`."""

from typing import Final

# What lexers of Lark's automaton see below the nodes of tries (`kernels.outlooks`):
OUTLOOK: Final = 206  # int64[n]: trie node << 32 | macro state
OUTLOOK_HASH: Final = 207
OUTLOOK_AT: Final = 208  # int32[n, 4], see below
OUTLOOKS: Final = 209  # scalars
OUTLOOK_ROOM: Final = 210
SEEN_LIST: Final = 211  # int32[n]: ranges of tokens or a row; how many exits there are, and these
SEEN_LISTED: Final = 212  # scalars
SEEN_LIST_ROOM: Final = 213
LEFT_BY: Final = 214  # int64[n, 3]: while one is made: config, how many nodes, the last of these
LEFT_AT: Final = 215  # int64[n]: the one before of the same << 32 | trie node
LEAVINGS: Final = 216  # scalars
LEAVING_ROOM: Final = 217
# What was told last of lines, as each byte of one asks: of which stack and TOOK, and what:
FITTED: Final = 218  # whether any line may follow,
FITTED_IS: Final = 219
WIDENED: Final = 220  # whether a block may begin
WIDENED_IS: Final = 221

# A code for Python:
NEED_TRIE: Final = -13  # WANT is where in SEEN_LIST an exit is whose trie is missing
# What `entry` serves itself:
NEED_LEXER: Final = -14  # WANT is a LEXES node without its TARGET
NEED_STEP: Final = -15  # WANT is the macro state of a lexer, WANT_BELOW a byte
NEED_OUTLOOK: Final = -16  # WANT is one, WANT_BELOW a trie node

# Fields of a table of LALR, behind those of `layout`.
T_WORDS: Final = 17  # of a set of terminals
T_SETS: Final = 18  # for each state where in LALR: shifts, and before what it reduces

# Fields of OUTLOOK_AT.
S_TOKENS: Final = 0  # where in SEEN_LIST,
S_RANGES: Final = 1  # how many ranges they are, from and to in TRIE_TOKEN; WHOLE_ROW: it is a row
S_EXITS: Final = 2  # where in SEEN_LIST
S_KNOWN: Final = 3
WHOLE_ROW: Final = -1
# An exit is a node and a stack of the macro state, the root of a trie or, if it is MANY_NODES, of
# what is then to be made, or NO_PICTURE; how many trie nodes, and these.
X_NODE: Final = 0
X_STACK: Final = 1
X_ROOT: Final = 2
X_COUNT: Final = 3
X_NODES: Final = 4
MANY_NODES: Final = -2

V_APART: Final = 5  # a verdict: it depends on the states below

# Kinds of nodes, with their fields. TOOK has in a macro state of terminals, where it is IGNORED,
# also a node as T_FREE of a text that is accepted there, or 0, and whether it is INSIDE.
LEXER: Final = 41  # macro state, table, LINES: what may be taken, as far as it is read
APART: Final = 42  # a node of such a macro state that has to be judged on its states
LEXES: Final = 43  # SETS of terminals, ways, of how many and where, guards, table; TARGET is the
# macro state of what is read of these
SETS: Final = 44  # four words of a set, the next SETS or 0
