"""The kernels that Python calls, compiled for these signatures when the module is imported.

Small requests share one kernel, since compiling the same closures into each would take its time.
"""

from pathlib import Path
from typing import Final

from guideway.masks.kernel_cache import kept
from guideway.masks.kernels.closure import close
from guideway.masks.kernels.fill import fill as _fill
from guideway.masks.kernels.frames import build_keys, first_frame, rehash_frames
from guideway.masks.kernels.intern import (
    judgement_of,
    node_of,
    rehash_macros,
    rehash_nodes,
    rehash_pairs,
    remember_step,
    text_of,
)
from guideway.masks.kernels.layout import (
    BUILD_KEYS,
    ENTER,
    EXTRA,
    EXTRA_HASH,
    EXTRA_ROOM,
    EXTRAS,
    FILL,
    FIRST_FRAME,
    FRAMES,
    JUDGE,
    JUDGED,
    JUDGED_HASH,
    JUDGED_ROOM,
    JUDGEMENTS,
    MACRO,
    MACROS,
    MAKE_NODE,
    MAKE_TEXT,
    NEED_LEX,
    NODES,
    OK,
    PAIR,
    PAIR_HASH,
    PAIR_ROOM,
    PAIRS,
    PENDING,
    READ,
    READ_EACH,
    REHASH,
    SCAN_ROOM,
    SCANNED,
    SCANNED_HASH,
    SCANS,
    STACK,
    STACK_HASH,
    STACK_ROOM,
    STACKS,
    TEXT,
    TEXT_HASH,
    TEXT_ROOM,
    TEXTS,
)
from guideway.masks.kernels.lexemes import expand_wanted, explore
from guideway.masks.kernels.lexer_layout import (
    NEED_LEXER,
    NEED_OUTLOOK,
    NEED_STEP,
    OUTLOOK,
    OUTLOOK_HASH,
    OUTLOOK_ROOM,
    OUTLOOKS,
)
from guideway.masks.kernels.linking import Kernels
from guideway.masks.kernels.macros import finish
from guideway.masks.kernels.options import split_state
from guideway.masks.kernels.outlooks import learn
from guideway.masks.kernels.pictures import count_rows as _count_rows
from guideway.masks.kernels.pictures import remember_picture, take_picture
from guideway.masks.kernels.pictures import stack_rows as _stack_rows
from guideway.masks.kernels.programs import write
from guideway.masks.kernels.reads import read_each, read_one
from guideway.masks.kernels.record_layout import (
    EFFORT,
    NUMBER,
    REHASH_RECORDS,
    SPLIT,
    TOP,
    WANT,
    WRITE,
)
from guideway.masks.kernels.records import rehash, state_of
from guideway.masks.kernels.searches import MAKE_PLACE, search
from guideway.masks.kernels.skips import survey_parts
from guideway.masks.kernels.tables import lay_tables, measure_tables
from guideway.masks.kernels.tries import draw_picture
from guideway.masks.kernels.tries import merge as _merge
from guideway.masks.kernels.views import (
    Context,
    Sets,
    WholeInts,
    WholeNumbers,
    WholeWords,
    int32s,
    once,
    release,
    take_again,
)
from guideway.masks.kernels.worklist import begin

_FEW: Final = 16  # configurations, of which most masks are made

_kernels = Kernels()


@once
def _enter(context: Context, node: int) -> int:
    begin(context)
    code = close(context, node, 0)
    return finish(context) if code == OK else code


@once
def _rehash(context: Context, what: int) -> None:
    if what == NODES:
        rehash_nodes(context)
    elif what == MACROS:
        rehash_macros(context)
    elif what == FRAMES:
        rehash_frames(context)
    elif what == STACKS:
        rehash_pairs(context, STACK, STACK_HASH, STACKS, STACK_ROOM)
    elif what == TEXTS:
        rehash_pairs(context, TEXT, TEXT_HASH, TEXTS, TEXT_ROOM)
    elif what == EXTRAS:
        rehash_pairs(context, EXTRA, EXTRA_HASH, EXTRAS, EXTRA_ROOM)
    elif what == JUDGEMENTS:
        rehash_pairs(context, JUDGED, JUDGED_HASH, JUDGEMENTS, JUDGED_ROOM)
    elif what == SCANS:
        rehash_pairs(context, SCANNED, SCANNED_HASH, SCANS, SCAN_ROOM)
    elif what == PAIRS:
        rehash_pairs(context, PAIR, PAIR_HASH, PAIRS, PAIR_ROOM)
    else:
        rehash_pairs(context, OUTLOOK, OUTLOOK_HASH, OUTLOOKS, OUTLOOK_ROOM)


@once
def _takes_long(context: Context, what: int, macro: int) -> bool:
    """Whether other threads should run meanwhile: most masks take less than handing over does."""
    if what == FILL:
        return int(int32s(context, MACRO)[macro * 4 + 1]) > _FEW
    return what == JUDGE


@_kernels.kernel(holds=True)
def run(context: Context, what: int, a: int, b: int, row: WholeWords, spare: WholeWords) -> int:
    """Do one thing that needs closures.

    ENTER a: the macro state of a text that begins with node a. READ a b: four times the macro state
    after token b from a, 0 if its bytes cannot be read, the first unsure one on the way if one is;
    plus 2 if a text may end there, plus 1 if it is unsure; where there are MARK nodes it needs and
    gives a text. READ_EACH a b: the same for the b tokens in `row`, to `spare`. FILL a b: the mask
    of a, as `fill` says; anew if b is not 0, else where it was.
    JUDGE a b: find the verdict of place a among b places; 1 if it is not known then.
    """
    if what == FILL and b != 0:
        context[PENDING] = 0
    lock = release() if _takes_long(context, what, a) else 0
    code = NEED_STEP
    while code in (NEED_LEXER, NEED_STEP, NEED_OUTLOOK):
        if what == FILL:
            code = _fill(context, a, row, spare)
        elif what == READ:
            code = read_one(context, a, b)
        elif what == READ_EACH:
            code = read_each(context, a, row, b, spare)
        elif what == ENTER:
            code = _enter(context, a)
        else:
            code = search(context, a, b)
        if code in (NEED_LEXER, NEED_STEP, NEED_OUTLOOK):
            lock = release() if lock == 0 else lock  # to learn may take milliseconds
            learned = learn(context, code)
            code = code if learned == OK else learned
    if lock != 0:
        take_again(lock)
    return code


@_kernels.kernel(holds=True)
def build(context: Context, what: int, kind: int, a: int, b: int, c: int, d: int, e: int) -> int:
    """Make one thing that needs none.

    MAKE_NODE: of a kind with five fields. MAKE_TEXT: text a with byte b behind it. BUILD_KEYS: the
    key trie of object a from row b on. FIRST_FRAME: of object a. REHASH: the empty table of a.
    MAKE_PLACE: of node a on stack b, to be judged.
    """
    if what == MAKE_NODE:
        return node_of(context, kind, a, b, c, d, e)
    if what == MAKE_TEXT:
        return text_of(context, a, b)
    if what == MAKE_PLACE:
        return judgement_of(context, a, b)
    if what == BUILD_KEYS:
        return build_keys(context, a, b)
    if what == FIRST_FRAME:
        return first_frame(context, a)
    if what == REHASH:
        _rehash(context, a)
    return OK


@_kernels.kernel()
def picture(
    context: Context, below: int, state: int, found: WholeInts, exits: WholeInts, leads: Sets
) -> int:
    """Find the tokens below a trie node that stay within a lexical state, and its exits.

    `found` are its holes. Expands states on the way.
    """
    code = NEED_LEX
    while code == NEED_LEX:
        code = take_picture(context, below, state, found, exits, leads)
        if code == NEED_LEX and not expand_wanted(context):
            break
    return code


@_kernels.kernel()
def draw(context: Context, holes: WholeInts, row: WholeWords) -> None:
    """Write the tokens that `picture` has found over all to a row of zeros."""
    draw_picture(context, holes, row)


@_kernels.kernel()
def survey(context: Context, scratch: Sets) -> None:
    """Write what is below each node of the vocabulary's trie."""
    survey_parts(context, scratch)


@_kernels.kernel()
def merge(
    context: Context, count: int, segments: WholeInts, levels: WholeInts, nodes: int, tokens: int
) -> int:
    """Append the trie of all that begins with the first `count` nodes of `segments`."""
    return _merge(context, count, segments, levels, nodes, tokens)


@_kernels.kernel(holds=True)
def remember(context: Context, below: int, state: int, number: int) -> None:
    """Note the picture of a lexical state over what is below a trie node."""
    remember_picture(context, below, state, number)


@_kernels.kernel()
def count_rows(
    context: Context, state: int, items: WholeInts, exits: WholeInts, base: int, top: int
) -> int:
    """How many items each token begins, and the exits of a counted state; gives their number.

    With `base` >= 0: write the rows for 0 to `top` items from there on instead.
    """
    if base >= 0:
        _stack_rows(context, items, base, top)
        return OK
    return _count_rows(context, state, items, exits)


@_kernels.kernel(holds=True)
def rehash_steps(context: Context, keys: WholeNumbers, values: WholeInts) -> None:
    """Put the steps of a smaller memo into the present, empty one."""
    for place in range(keys.shape[0]):
        if keys[place] != 0:
            remember_step(context, int(keys[place]), int(values[place]))


@_kernels.kernel()
def lexemes(context: Context, what: int, a: int, program: WholeNumbers, made: WholeNumbers) -> int:
    """Do one thing to the records of a lexicon; below 0: there is too little of what WANT says.

    WRITE: the expressions of a program. NUMBER a: the lexical state of record a. EXPAND a: the
    row of state a. SPLIT a: its options. IS_CODE a: whether record a can be counted. IS_ALIVE a:
    whether it has a text. IS_OPEN a, IS_SMALL a: see `masks.lexicon`.
    """
    context[TOP] = context[EFFORT] = context[WANT] = 0
    found = 0
    if what == WRITE:
        write(context, program, made)
    elif what == NUMBER:
        found = state_of(context, a)
    elif what == REHASH_RECORDS:
        rehash(context)
    elif what == SPLIT:
        split_state(context, a)
    else:
        found = explore(context, what, a)
    return found if context[WANT] == 0 else -1


@_kernels.kernel(holds=True)
def tabulate(told: WholeInts, measured: WholeInts, laid: WholeInts, base: int) -> None:
    """Find how much room the tables of Lark's automaton take; or, at a `base`, write them there."""
    if base == 0:
        measure_tables(told, measured)
    else:
        lay_tables(told, measured, laid, base)


_code = kept("the mask engine", Path(__file__).parent.glob("*.py"), _kernels.machine_code)
globals().update(_kernels.loaded(_code))
