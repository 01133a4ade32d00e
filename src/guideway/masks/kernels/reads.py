"""Macro states after tokens, byte by byte."""

import numpy as np

from guideway.masks.kernels.intern import text_of
from guideway.masks.kernels.layout import (
    AFTER_TEXT,
    MACRO,
    MARKED,
    MARKS,
    OK,
    READ_TEXT,
    TOKEN,
    TOKEN_AT,
)
from guideway.masks.kernels.macros import step, step_with
from guideway.masks.kernels.views import Context, Words, int32s, int64s, once, uint8s


@once
def read_each(context: Context, macro: int, tokens: Words, count: int, codes: Words) -> int:
    """Write the READ result of each of `count` tokens to `codes`; nonzero ones are done."""
    for place in range(count):
        if codes[place] != 0:
            continue
        code = read_one(context, macro, int(tokens[place]))
        if code < 0:
            return code
        codes[place] = np.uint32(code)
    return OK


@once
def read_one(context: Context, macro: int, token: int) -> int:
    """The result of READ, see `entry.run`."""
    bytes_, at, read = uint8s(context, TOKEN), int64s(context, TOKEN_AT), int(context[READ_TEXT])
    for place in range(at[token], at[token + 1]):
        before, byte = macro, int(bytes_[place])
        macro = step(context, before, byte)
        if context[MARKS] != 0 and macro > 0:
            read = text_of(context, read, byte)
            if read < 0:
                return read
            if int32s(context, MACRO)[macro * 4 + 3] >= MARKED:
                macro = step_with(context, before, byte, read)
        if macro <= 0:
            return macro
        if int32s(context, MACRO)[macro * 4 + 3] != 0:
            break
    context[AFTER_TEXT] = read
    macros = int32s(context, MACRO)
    return macro * 4 + 2 * macros[macro * 4 + 2] + macros[macro * 4 + 3]
