"""The records of a constraint that Python and the kernels share, and the codes of their fields."""

from typing import Annotated, Final

from guideway.automaton.jit.records import Record, Rows, Table, i32, i64, u8, u16, u32, u64
from guideway.automaton.kernels.regex_layout import RegexContext, Transitions


class Node(Record):
    """A node of the pushdown automaton; the kinds, below, tell its fields."""

    kind: i32
    a: i32
    b: i32
    c: i32
    d: i32
    e: i32
    target: i32  # translation of EXPR, RESUME and NAMED, + 1; 0 until translated
    unused: i32  # records of 32 bytes do not cross cache lines


class Bytes(Record):
    """A set of bytes."""

    words: Annotated[Rows[u64], 4]


class Ascii(Record):
    """A set of ASCII bytes."""

    words: Annotated[Rows[u64], 2]


class Macro(Record):
    """A macro state: a set of configurations."""

    first: i32  # in `configs`
    count: i32
    accepts: i32
    unsure: i32
    leads: Annotated[Rows[u64], 4]  # the bytes that may follow


class Step(Record):
    """A memoised step of a macro state."""

    key: i64  # (macro << 9 | blur << 8 | byte) + 1; 0 if free
    macro: i32


class Steps(Record):
    """The hash table of steps."""

    rows: Rows[Step]  # 2 * room
    used: i64
    room: i64

    def __getitem__(self, index: int, /) -> Step:
        raise NotImplementedError


class Frame(Record):
    """The members of an object so far."""

    thing: i32  # its object
    position: i32  # of the next name; in a class, the frame of the object
    extras: i32
    missing: i32  # required keys
    bits: i32  # first word of the names that may come
    others: i32  # whether other keys may come


class Object(Record):
    words: i32  # uint64 words of a set of names
    name_count: i32
    first_name: i32
    keys: i32  # root in `key_nodes`
    other: i32  # node of the value of undeclared keys, DEAD if not allowed
    ordered: i32
    comma: i32  # nodes
    closing: i32
    colon: i32  # NIL in arrays of different strings
    start: i32  # lexical state at the first byte of a key
    quoted: i32  # lexical state before its quote
    plain: i32  # only necessary escapes are allowed
    bare: i32  # whether the value of a name includes the colon and the rest
    # First object of the classes of undeclared keys; for different strings, least count |
    # (greatest count + 1) << 16:
    class_or_counts: i32
    class_count: i32  # 0 if `other` is enough
    is_class: i32  # frames then have the object's frame as position


class Name(Record):
    """A declared name, by rank: names are sorted by their UTF-8."""

    at: i32  # in `pool`
    length: i32
    value: i32  # node, DEAD if the property can have no value
    required: i32
    index: i32  # rank to declared index
    rank: i32  # declared index to rank


class KeyNode(Record):
    """A node of the trie of an object's names."""

    byte: i32
    low: i32  # ranks of the names below: [low, high)
    high: i32
    depth: i32
    child: i32  # the first; children are neighbours
    children: i32


class Key(Record):
    """A key that is read."""

    trie: i32  # key trie node, -1 if no name begins so
    text: i32
    state: i32  # lexical state
    escape: i32
    node: i32  # trie node where it is read


class Pair(Record):
    """A bounded pattern at a trie node: its state, and that within a character."""

    state: i32
    inside: i32
    count: i32  # characters read


class Length(Record):
    """Lengths of the texts from a pair of characters of one byte."""

    fewest: i32  # characters that a text must still begin, + 1; 0 until searched, or UNKNOWN
    steady: i32  # whether each greater length is possible too
    seen: i32  # last search that visited it,
    parent: i32  # its predecessor,
    link: i32  # next pair in its list,
    level: i32  # twice the characters read before it, plus one while it waits,
    left: i32  # and the fewest that may be left


ENDLESS: Final = 1 << 30  # length if there is no text
UNKNOWN: Final = (1 << 31) - 1  # if the search takes long


class Verdict(Record):
    """The verdict on a place: it can reach an end, or it cannot."""

    value: i32
    search: i32  # last search that visited it
    parent: i32  # its predecessor
    link: i32  # next in its list


class LexerMask(Record):
    """Tokens that a macro state of terminals reads below a trie node, and its exits."""

    tokens: i32  # index in `listing`
    ranges: i32  # number of ranges (from, to in `trie_tokens`)
    exits: i32  # index in `listing`: their number, then each `Exit`
    known: i32


class Exit(Record):
    """A node where tokens leave a macro state of terminals; `count` trie nodes follow."""

    node: i32
    stack: i32
    root: i32  # of a trie of rests; or 0, or MANY_NODES (still to be made)
    count: i32


EXIT_SIZE: Final = 4
MANY_NODES: Final = -2


class Leaving(Record):
    """An exit of a new lexer mask."""

    config: i64
    count: i64  # trie nodes
    last: i64  # the last of them in `leavings`, + 1


class Leavings(Record):
    """The exits of a new lexer mask."""

    rows: Rows[i64]  # previous of the same exit << 32 | trie node
    groups: Rows[Leaving]
    used: i64
    room: i64

    def __getitem__(self, index: int, /) -> int:
        raise NotImplementedError

    def __setitem__(self, index: int, value: int, /) -> None:
        raise NotImplementedError


class Visit(Record):
    """A configuration that a closure has visited."""

    generation: i64
    config: i64


class Work(Record):
    """Memory of closures."""

    configs: Rows[i64]  # 2 * room: configurations, then from `room` on the work list
    verdicts: Rows[u8]
    asked: Rows[i32]  # places that have to be judged
    aside: Rows[i64]  # configurations while they are judged
    aside_verdicts: Rows[u8]
    entered: Rows[i64]  # ENTRY node << 32 | a stack that it was entered on
    visits: Rows[Visit]  # 2 * room, a hash table of generations
    used: i64  # visits
    room: i64


class Item(Record):
    """A configuration on the work list of a mask, and the trie node below which it reads."""

    config: i64
    below: i64


class ItemVisit(Record):
    generation: i64
    config: i64
    below: i64


class Items(Record):
    """The work list of a mask."""

    rows: Rows[Item]
    visits: Rows[ItemVisit]  # 2 * room, a hash table of generations
    used: i64
    room: i64
    visited: i64
    generation: i64

    def __getitem__(self, index: int, /) -> Item:
        raise NotImplementedError


class StateMask(Record):
    """The mask of a lexical state below a trie node."""

    base: i32  # row in `base_rows`, -1 if listed
    first: i32  # ranges of `trie_tokens` in `listed`: from, to
    last: i32
    leaves: i32  # whether tokens may leave it
    exits: i32  # first in `exit_tries`, or 0


class CountMask(Record):
    """The same for a state between counted items."""

    base: i32  # the first of several rows
    most: i32  # items of the last of them
    exits: i32  # root of the trie of all of them
    first: i32  # in `counted_exits`: from, to
    last: i32


class ExitTrie(Record):
    """The rests of the tokens that leave a state mask before one of a set of bytes."""

    leads: Annotated[Rows[u64], 4]
    root: i64  # 0 if there are none
    link: i64  # next, or 0


class CountedExit(Record):
    items: i32  # before it
    root: i32


class Lalr(Record):
    """A table of a LALR automaton, within `lalr`; an index is of `lalr`."""

    terminals: i32  # number of terminals; the last is the end of the text
    end: i32  # top state when all is read
    newline: i32  # terminals, -1 if lines are not indented
    indent: i32
    dedent: i32
    tab: i32
    free: i32  # node after which every stack has a text to the end; 0: unknown
    depth: i32  # more states than reductions push, except in endless loops
    action: i32  # index: per state, a `CellRow` by terminal: state + 1, or -1 - production
    goto: i32  # index: per state, a `CellRow` by rule: next state + 1
    production: i32  # index: per production, a `Production`
    bracket: i32  # index: per terminal, change of open brackets, or an item's width + 1
    scanner: i32  # index: per state, a `Scanner`
    level: i32  # guard level of its lookaheads
    reached: i32  # a CLEAR node that accepts under guards
    line: i32  # as `free`, where a newline may follow; 0 if lines are not indented
    words: i32  # words of a set of terminals


class CellRow(Record):
    """A row of a sparse table, within `lalr`; columns outside are 0."""

    start: i32  # index in `lalr` of the first column
    first: i32
    last: i32


class Production(Record):
    """A production, within `lalr`."""

    length: i32
    rule: i32


class Scanner(Record):
    """The ways of the scanner of a state, within `lalr`."""

    first: i32  # the first `Way` in `edges`, + 1; 0 unknown
    count: i32


class Way(Record):
    """A way of a scanner, within `edges`."""

    node: i32
    terminal: i32  # or IGNORED
    where: i32  # EVERYWHERE, OUTSIDE or INSIDE
    word: i32  # a node as `Lalr.free` for one of its texts, or 0


WAY_SIZE: Final = 4
CELL_ROW_SIZE: Final = 3
PRODUCTION_SIZE: Final = 2
SCANNER_SIZE: Final = 2


class Context(Record):
    """All that a kernel of one constraint reads and writes."""

    # When a kernel returns a code below 0: the missing resource, and the trie node or byte.
    want: i64
    want_below: i64

    # The pushdown automaton of the constraint. Pairs are two numbers, high << 32 | low.
    nodes: Table[Node]
    stacks: Table[i64]  # pairs: node, parent
    macros: Table[Macro]
    configs: Table[i64]  # pairs: node, stack
    steps: Steps
    edges: Rows[i32]  # options of alternatives; ways of scanners
    pool: Rows[u8]  # literals and names
    captures: i64  # whether there are CAPTURE nodes
    marks: i64  # whether there are MARK nodes; if so:
    read_text: i64  # text before the token of READ
    after_text: i64  # text after it
    mark_text: i64  # current text + 1, 0 if unknown
    texts: Table[i64]  # pairs: parent, byte
    forks: i64  # number of lists of alternatives so far

    # Objects.
    objects: Rows[Object]
    names: Rows[Name]
    key_nodes: Rows[KeyNode]
    frames: Table[Frame]
    bits: Table[u64]  # which names may come, by rank
    extras: Table[i64]  # pairs: text, rest; ascending texts
    key: Key  # the key that is read

    # Closures.
    work: Work
    found: i64  # number of configurations
    todo: i64  # length of the work list
    entries: i64  # number of entered ENTRY nodes
    accept: i64
    doubtful: i64  # 1 if the closure has a DOUBT
    blur: i64  # whether captures forget their text, as in walks
    generation: i64
    guarding: i64  # guards of the configuration that is expanded, 0 if none
    leads: Annotated[Rows[u64], 4]  # first bytes of the configurations

    # Masks.
    row_words: i64
    row_code: i64  # hash of the last mask
    pending: i64  # whether a mask is resumed from its work list
    items: Items
    walk: Rows[i32]  # the macro state at each depth
    key_walk: Rows[Key]  # the key at each depth
    begun: Rows[i32]  # counted items at each depth; for state masks, counters
    cursor: i64  # trie node where an interrupted walk resumes
    any_unsure: i64
    unsure: Rows[u32]  # tokens that READ has to check one by one

    # Bounded patterns (`kernels.bounds`).
    pairs: Table[i64]  # pairs: lexical state of a pattern, that of its characters
    lengths: Rows[Length]
    bound_walk: Rows[Pair]  # at each depth
    bound_place: i64  # trie node where an interrupted walk of a bounded pattern resumes, or 0
    bound_node: i64  # its BOUNDED node << 32 | the trie node above
    search: i64  # number of searches
    search_level: i64  # characters read
    search_later: i64  # linked list of pairs for later
    search_nearest: i64  # linked list of the nearest pairs,
    search_fewest: i64  # which have a text with so few characters,
    search_next: i64  # and the next ones with so many
    search_best: i64  # characters of the shortest text found, or -1
    search_end: i64  # the pair where it ends
    last_state: i64  # cache: the last pair, its fewest characters and whether it is steady
    last_fewest: i64
    last_steady: i64

    # Lookaheads (`kernels.liveness`).
    looks: i64  # whether there are any
    anything_state: i64  # the lexical state of all texts
    places: Table[i64]  # pairs: node, stack
    verdicts: Rows[Verdict]
    asked_count: i64  # places of the closure that have to be judged
    asked_at: i64  # how many are done
    judging: i64  # whether such a judgement is in progress
    judge_root: i64  # the place that is judged,
    judge_at: i64  # the place that is expanded,
    judge_byte: i64  # the next byte to try from it
    judge_last: i64  # last place in the queue
    judge_count: i64  # number of places in the queue
    judge_doubt: i64  # whether anything was doubtful
    judge_turn: i64  # number of searches
    judge_leads: Annotated[Rows[u64], 4]  # bytes that the search tries
    futile: i64  # searches that did not decide

    # Lark's automaton (`kernels.lalr`).
    any_lalr: i64
    lalr: Rows[i32]  # tables and their rows
    lalr_work: Rows[i32]  # states that reductions push
    lalr_depth: i64  # number of those states
    lalr_rest: i64  # the stack below them
    mask_places: Table[i64]  # pairs: trie node, macro state
    lexer_masks: Rows[LexerMask]
    listing: Table[i32]  # ranges of tokens or a row; exits
    leavings: Leavings

    # The lexer DFA.
    transitions: Rows[Transitions]
    lexer_flags: Rows[u8]
    lexer_leads: Rows[Bytes]
    regexes: Rows[RegexContext]  # 0 while its lock is not held

    # The vocabulary.
    token_bytes: Rows[u8]
    token_at: Rows[i64]
    end_row: Rows[u32]  # the end ids
    every_row: Rows[u32]  # all tokens that have bytes
    trie_bytes: Rows[u8]  # preorder; node 0 is the root of the vocabulary's trie
    trie_depths: Rows[u16]
    trie_ends: Rows[i32]
    trie_at: Rows[i32]
    trie_tokens: Rows[i32]
    trie_roots: Rows[i32]  # by byte
    trie_free: i64  # node where the next trie begins
    subtree_bytes: Rows[Ascii]  # below a node of the vocabulary's trie
    subtree_flags: Rows[u8]  # what else is below it, see `state_masks`
    heights: Rows[u8]

    # Masks of lexical states.
    state_masks: Rows[StateMask]
    count_masks: Rows[CountMask]  # the same memory
    state_mask_at: Rows[i32]  # by lexical state: 0 unknown, or a state mask
    count_mask_at: Rows[i32]  # the same between counted items
    state_mask_keys: Rows[i64]  # 2 * room: trie node << 32 | lexical state
    state_mask_values: Rows[i32]
    state_mask_room: i64
    base_rows: Rows[u32]
    listed: Rows[i32]  # ranges of tokens
    small: i64  # subtrees with at most so many nodes are walked each time
    loops: Rows[Ascii]  # bytes that lead from a lexical state to itself
    loop_flags: Rows[u8]  # see `state_masks`
    exit_tries: Rows[ExitTrie]
    counted_exits: Rows[CountedExit]

    # Stored rows.
    stored: Rows[i32]  # 2 * room, hash table: 0 or the number of a row
    stored_codes: Rows[i64]  # hash of a row
    stored_rows: Rows[Rows[u32]]
    stored_room: i64


# Growing tables, as `want` tells them when a kernel returns FULL.
TABLES: Final = (
    "nodes", "stacks", "macros", "configs", "steps", "frames", "bits", "texts", "extras", "pairs",
    "places", "mask_places", "listing", "leavings", "work", "items",
)  # fmt: skip
(
    NODES, STACKS, MACROS, CONFIGS, STEPS, FRAMES, BITS, TEXTS, EXTRAS, PAIRS,
    PLACES, MASK_PLACES, LISTING, LEAVINGS, WORK, ITEMS,
) = range(len(TABLES))  # fmt: skip

# Operations of `entry.run`.
ENTER: Final = 5
READ: Final = 6
FILL: Final = 7
READ_EACH: Final = 10

# Return codes: what Python has to supply.
OK: Final = 0
FULL: Final = -1  # `want` is the slot of the count that has reached its room
NEED_NODE: Final = -2  # `want` is an EXPR, RESUME or NAMED node to translate
NEED_LEX: Final = -3  # `want` is a lexical state to expand
NEED_STATE_MASK: Final = -4  # `want` is a lexical state whose state mask is missing
NEED_COUNT_MASK: Final = -6  # as NEED_STATE_MASK, for counted items
NEED_EXITS: Final = -7  # `want` is a state mask that lacks the exits that begin with `leads`
NEED_SCANNER: Final = -12  # `want` is a SCAN node whose state has no ways yet

# Kinds of nodes, with their fields.
DEAD: Final = 0
NIL: Final = 1
LITERAL: Final = 2  # start in `pool`, length, next node
LEXEME: Final = 3  # lexical state
SEQUENCE: Final = 4  # first node, second node
CHOICE: Final = 5  # start in `edges`, number of options
EXPR: Final = 6  # an expression, its flags (NULLABLE, SHARED, LOOKS); see `target`
MARK: Final = 7  # template and argument index: end of a captured text
AFTER_BRACE: Final = 8  # frame: after the opening brace
AFTER_VALUE: Final = 9  # frame: after a value
MEMBER: Final = 10  # frame: before a key
KEY: Final = 11  # frame, key trie node or -1, text, lexical state, escape
CAPTURE: Final = 12  # lexical state, text or -1, index of template and argument
RESUME: Final = 13  # index of template and argument, text or -1; see `target`
DOUBT: Final = 14  # only steps byte by byte can decide
COUNTED: Final = 15  # lexical state, items still needed, still allowed or -1, state between items
NAMED: Final = 17  # indices of template, its state and a name: rest after the name; see `target`
FORKED: Final = 18  # a stack, next FORKED or NIL: alternatives below a configuration
BOUNDED: Final = 16  # as COUNTED, for a pattern; then the state within a character, 0 between two
GUARDED: Final = 19  # a node, and its guards
GUARD: Final = 20  # lexical state, level, next GUARD or 0
AHEAD: Final = 21  # lexical state, level: adds a guard
STOP: Final = 22  # level: ends its guards
PUSH_STATES: Final = 23  # table, LINES, start in `edges` of states and margins, how many, LINE or 0
SCAN: Final = 24  # table, state, LINES, whether the text must not end here
LEXED: Final = 25  # table, terminal or IGNORED, LINES; two more fields: see LEXER
LALR_STATE: Final = 26  # table, state, margin, the stack below the lowest state
LINE: Final = 27  # lexical state, columns or -1, lexical state of what follows, tab width,
# and 0, or that every newline in it may begin any line:
FREE_LINE: Final = 1  # and text follows
LAST_LINE: Final = 2  # and only the end follows
AFTER_LINE: Final = 28  # table, LINES, columns
LINES: Final = 29  # open brackets, width of the innermost block, LINES of the outer ones or 0
CLEAR: Final = 30  # whether the end is accepted under guards too
MEMBERS: Final = 31  # frame: its MEMBER, and that of each class of undeclared keys
WORDS: Final = 33  # object, key trie node: rest of one of its names

# Verdicts.
V_UNKNOWN: Final = 0
V_ALIVE: Final = 1
V_DEAD: Final = 2
V_DOUBT: Final = 3

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
UNKNOWN_TEXT: Final = -1
MARKED: Final = 2  # unlike doubt 1: a text read by MARK is unknown
CLOSE_BRACE: Final = 2  # the node of "}"
QUOTE_BYTE: Final = 0x22
NEWLINE_BYTE: Final = 0x0A
TAB_BYTE: Final = 0x09
BLANK_BYTE: Final = 0x20
BACKSLASH: Final = 0x5C

# Entries of closures (`kernels.shared_closures`). Flags in the second field of an EXPR node:
NULLABLE: Final = 1  # it accepts the empty text
SHARED: Final = 2  # it may be entered once for all that follows it in a closure
LOOKS: Final = 4  # it contains lookaheads

# Kind of node: an EXPR, 0, guards: end of that expression; or a node, the ENTRY below it.
ENTRY: Final = 32

# Code for Python:
NEED_TRIE: Final = -13  # `want` is the index in `listing` of an exit without a trie
# Codes that `entry` serves:
NEED_JUDGE: Final = -10  # `want` is a place whose verdict is missing
NEED_LEXER: Final = -14  # `want` is a LEXER_KEY node without its `target`
NEED_STEP: Final = -15  # `want` is the macro state of a lexer, `want_below` a byte
NEED_LEXER_MASK: Final = -16  # `want` is a macro state of a lexer, `want_below` a trie node

V_PER_STACK: Final = 5  # verdict: it depends on the LALR states

# Kinds of nodes, with their fields. In a macro state of terminals an IGNORED LEXED also has a node
# as `Lalr.free` for a text that is accepted there, or 0, and whether it is INSIDE.
LEXER: Final = 41  # macro state, table, LINES: terminals that are being lexed
PER_STACK: Final = 42  # a node of such a macro state whose verdict depends on the LALR states
LEXER_KEY: Final = 43  # SETS of terminals, first way, ways * 4 + where, guards, table; see `target`
SETS: Final = 44  # four words of a set, the next SETS or 0
