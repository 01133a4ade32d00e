"""The records of a lexer DFA, which Python and the kernels share, and the codes of their fields."""

from typing import Annotated, Final

from guideway.automaton.jit.records import Record, Rows, Table, i32, i64, u8


class Transitions(Record):
    """A row of a lexer DFA."""

    after: Annotated[Rows[i32], 256]  # by byte: 0 unknown, DEAD_END, or a state


class Words(Record):
    """A set of bytes."""

    words: Annotated[Rows[i64], 4]


class Regex(Record):
    """A regular expression; the kinds, below, tell a, b and c."""

    kind: i64
    a: i64
    b: i64
    c: i64
    hash: i64
    about: i64  # flags, see below
    guess: i64  # guess of the fewest bytes of a text; also LEAST
    lines_at: i64
    lines_end: i64  # 0 until made
    arcs_at: i64
    arcs_end: i64  # 0 until made
    state: i64  # its lexical state, or 0
    mark: i64  # generation of the search that has visited it,
    came: i64  # its predecessor,
    met: i64  # and the record visited before it
    queued: i64  # generation that has queued it


class Count(Record):
    used: i64
    room: i64


class RegexContext(Record):
    """All that a kernel of one lexer DFA reads and writes."""

    want: i64  # the table of TABLES that is full, + 1
    records: Table[Regex]
    sets: Table[Words]
    parts: Table[i32]  # options of alternatives, ascending
    lines: Table[i64]  # set << 32 | record after one of its bytes
    listed: Table[i64]  # work lists
    states: Count
    effort: Count  # expressions derived in one call; limited, so that Python can be interrupted
    generation: i64  # of searches and queues
    spellable: i64  # the set of bytes that exist
    bodiless: i64  # record of the rule whose body is missing
    spent: i64  # effort of rows that kernels made, not yet accounted for by Python
    # By lexical state, as in `layout.Context`:
    transitions: Rows[Transitions]
    flags: Rows[u8]
    leads: Rows[Words]
    state_records: Rows[i32]


# Growing tables, as `want` tells them; a body of a rule is made by Python when first needed.
TABLES: Final = ("records", "sets", "parts", "lines", "listed", "states", "effort", "bodies")
RECORDS, SETS, PARTS, LINES, LISTED, STATES, EFFORT, BODIES = range(len(TABLES))

LEAST: Final = 21  # bit of `guess` where a lower bound of the bytes of a text begins
FARTHEST: Final = 1 << 20

# Kinds, with A, B and C. The order is that of the constants below.
EMPTY_KIND: Final = 0
EPSILON_KIND: Final = 1
NOT: Final = 2  # record
BYTES: Final = 3  # set
CONCAT: Final = 4  # head, tail
ALT: Final = 5  # start in `parts`, number of options
REPEAT: Final = 6  # record, low, high or -1
AND: Final = 7  # two records, ascending
RULE: Final = 8  # number of the rule, whether it surely has a text, record of its body + 1

EMPTY: Final = 0
EPSILON: Final = 1
ANYTHING: Final = 2

# Flags of `about`.
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
HAS_OPTION: Final = 7
