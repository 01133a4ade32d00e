"""Slots, codes and nodes for lexers; see `layout` and `outlooks`."""

from typing import Final

# Outlooks of lexers of Lark's automaton (`kernels.outlooks`):
OUTLOOK: Final = 206  # int64[n]: trie node << 32 | macro state
OUTLOOK_HASH: Final = 207
OUTLOOK_AT: Final = 208  # int32[n, 4], see below
OUTLOOKS: Final = 209  # scalars
OUTLOOK_ROOM: Final = 210
SEEN_LIST: Final = 211  # int32[n]: ranges of tokens or a row; number of exits, and exits
SEEN_LISTED: Final = 212  # scalars
SEEN_LIST_ROOM: Final = 213
LEFT_BY: Final = 214  # int64[n, 3]: of a new outlook: config, number of trie nodes, the last
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
