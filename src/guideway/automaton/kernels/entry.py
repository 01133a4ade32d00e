"""The kernels that Python calls, compiled or loaded when this module is imported."""

from pathlib import Path
from typing import Final

from guideway.automaton.jit.cache import cached
from guideway.automaton.jit.operands import (
    Sets,
    WholeInts,
    WholeNumbers,
    WholeWords,
    checked,
    inner,
    once,
    release,
    take_again,
)
from guideway.automaton.jit.records import Whole
from guideway.automaton.jit.statements import Kernels
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.closure import close
from guideway.automaton.kernels.fill import fill, learn
from guideway.automaton.kernels.intern import (
    node_of,
    rehash_macros,
    rehash_nodes,
    rehash_pairs,
    remember_step,
    text_of,
)
from guideway.automaton.kernels.layout import Context, Step
from guideway.automaton.kernels.lexer_states import expand_wanted, explore, write
from guideway.automaton.kernels.macro_states import finish, judge, read_each, read_one
from guideway.automaton.kernels.object_keys import build_keys, first_frame, rehash_frames
from guideway.automaton.kernels.regex_layout import (
    NUMBER,
    REHASH_RECORDS,
    WRITE,
    RegexContext,
)
from guideway.automaton.kernels.regexes import rehash, state_of
from guideway.automaton.kernels.shared_closures import begin
from guideway.automaton.kernels.state_masks import (
    count_rows,
    remember_state_mask,
    stack_rows,
    survey_parts,
    take_state_mask,
)
from guideway.automaton.kernels.tries import draw_state_mask, merge

_FEW: Final = 16  # most masks are made of no more configurations


@once
def _enter(context: Context, node: int) -> int:
    begin(context)
    checked(close(context, node, 0))
    return finish(context)


@once
def _takes_long(context: Context, what: int, macro: int) -> bool:
    """Return True if the GIL is to be released; most masks take less than handing it over."""
    return what == at.FILL and context.macros[macro].count > _FEW


@inner
def run(context: Context, what: int, a: int, b: int, row: WholeWords, spare: WholeWords) -> int:
    """Run one operation that needs closures.

    ENTER a: the macro state at the begin of node a.
    READ a b: 4 * the macro state after token b from a, + 2 if a text may end there, + 1 if it is
    unsure; 0 if the token is rejected. Stops at the first unsure state. With MARK nodes it takes
    `read_text` and sets `after_text`.
    READ_EACH a b: READ for each of the b tokens in `row`, to `spare`.
    FILL a b: the mask of a, see `fill`; resumed where it was if b is 0.
    """
    if what == at.FILL and b != 0:
        context.pending = 0
    lock = release() if _takes_long(context, what, a) else 0
    code = at.NEED_STEP
    while code in (at.NEED_LEXER, at.NEED_STEP, at.NEED_LEXER_MASK, at.NEED_JUDGE):
        if what == at.FILL:
            code = fill(context, a, row, spare)
        elif what == at.READ:
            code = read_one(context, a, b)
        elif what == at.READ_EACH:
            code = read_each(context, a, row, b, spare)
        else:
            code = _enter(context, a)
        served = code
        while served in (at.NEED_LEXER, at.NEED_STEP, at.NEED_LEXER_MASK, at.NEED_JUDGE):
            lock = release() if lock == 0 else lock  # serving may take milliseconds
            if served == at.NEED_JUDGE:
                served = judge(context, context.want)
            else:
                served = learn(context, served)
        code = served if served < 0 else code
    if lock != 0:
        take_again(lock)
    return code


@inner
def state_mask(
    context: Context, below: int, state: int, found: WholeInts, exits: WholeInts, leads: Sets
) -> int:
    """Find the tokens and exits of a state, expanding states; see `state_masks.take_state_mask`."""
    code = at.NEED_LEX
    while code == at.NEED_LEX:
        code = take_state_mask(context, below, state, found, exits, leads)
        if code == at.NEED_LEX and not expand_wanted(context):
            break
    return code


@inner
def rehash_steps(context: Context, steps: Whole[Step]) -> None:
    """Copy the steps of a smaller memo to the present, empty one."""
    for place in range(len(steps)):
        if steps[place].key != 0:
            remember_step(context, steps[place].key, steps[place].macro)


@inner
def lexemes(
    context: RegexContext, what: int, a: int, program: WholeNumbers, made: WholeNumbers
) -> int:
    """Run one operation on the records of a lexer DFA; -1 if `want` has no room.

    WRITE: the expressions of a program. NUMBER a: the lexical state of record a. EXPAND a: the row
    of state a. IS_CODE a: record a is a prefix code. IS_ALIVE a: it has a
    text. HAS_OPTION a: as IS_ALIVE, option by option. IS_OPEN a: see `automaton.lexer_dfa`.
    """
    context.listed.used = context.effort.used = context.want = 0
    found = 0
    if what == WRITE:
        write(context, program, made)
    elif what == NUMBER:
        found = state_of(context, a)
    elif what == REHASH_RECORDS:
        rehash(context)
    else:
        found = explore(context, what, a)
    return found if context.want == 0 else -1


_kernels = Kernels(
    holding=(
        *(run, node_of, text_of, first_frame, build_keys, remember_state_mask),
        *(rehash_nodes, rehash_macros, rehash_frames, rehash_pairs, rehash_steps),
    ),
    letting=(state_mask, draw_state_mask, survey_parts, merge, count_rows, stack_rows, lexemes),
)
_folder = Path(__file__).parent
_sources = [*_folder.glob("*.py"), *_folder.with_name("jit").glob("*.py")]
_code = cached("the mask engine", _sources, _kernels.machine_code)
globals().update(_kernels.loaded(_code))
