"""Records from expressions that Python has written as numbers."""

from guideway.masks.kernels.algebra import alt_of, both_of, not_of, pair_of, repeat_of
from guideway.masks.kernels.record_layout import (
    ALT,
    AND,
    BYTES,
    CONCAT,
    EMPTY,
    NOT,
    REPEAT,
    WANT,
)
from guideway.masks.kernels.records import push, record_of, set_of
from guideway.masks.kernels.views import Context, WholeNumbers, inner


@inner
def write(context: Context, program: WholeNumbers, made: WholeNumbers) -> None:
    """Make the records of a program, one for each of `made`.

    Each takes five numbers: kind, A, B, C; for bytes the four words; for alternatives the index of
    their options in the program, and their number. A negative part -1 - n is record n of `made`.
    """
    for index in range(made.shape[0]):
        if context[WANT]:
            return
        at = index * 5
        kind, b = program[at], int(program[at + 2])
        first = int(program[at + 1])
        a = 0 if kind == BYTES else _written(made, first)
        if kind == BYTES:
            members = set_of(context, first, b, int(program[at + 3]), int(program[at + 4]))
            made[index] = record_of(context, BYTES, members, 0, 0) if members else EMPTY
        elif kind == CONCAT:
            made[index] = pair_of(context, a, _written(made, b))
        elif kind == ALT:
            for option in range(first, first + b):
                push(context, _written(made, int(program[option])))
            made[index] = alt_of(context, 0)
        elif kind == REPEAT:
            made[index] = repeat_of(context, a, b, int(program[at + 3]))
        elif kind == AND:
            made[index] = both_of(context, a, _written(made, b))
        elif kind == NOT:
            made[index] = not_of(context, a)
        else:
            made[index] = record_of(context, int(kind), first, b, 0)


@inner
def _written(made: WholeNumbers, part: int) -> int:
    return int(made[-1 - part]) if part < 0 else part
