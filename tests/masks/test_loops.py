"""What leads back to where a walk is, is not walked: masks stay those of the plain engine."""

import random

import numpy as np
import pytest

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.masks.bits import unpack
from guideway.masks.kernels import layout as at
from guideway.masks.rows import Rows
from guideway.masks.states import States
from lark_samples import Blocks, lowered

CHARACTERS = ("a", "b", " ", "#", "\n", "é", "€", "\u2028", "\U0001f600", "\u2010")


def vocabulary() -> gw.Vocabulary:
    """Every byte, texts by chance, and parts of them that begin or end within a character."""
    dice = random.Random(3)
    texts = {
        "".join(dice.choices(CHARACTERS, k=dice.choice([2, 3, 4]))).encode() for _ in range(900)
    }
    cut = {text[dice.choice([0, 1]) : len(text) - dice.choice([0, 1])] for text in texts}
    tokens = [
        *(bytes((byte,)) for byte in range(256)),
        *sorted(each for each in texts | cut if each[1:]),
    ]
    return gw.Vocabulary([*tokens, b"<end>"], eos_ids={len(tokens)})


GRAMMARS = [
    ("[^\\n]", 3),
    ("[^\\n\\u2028]", 2),
    ("[^\\né]", 1),
    ("[\\x20-\\x7e]", 1),
]


@pytest.mark.untraced
@pytest.mark.parametrize(("inside", "elsewhere"), GRAMMARS)
def test_comments(inside, elsewhere):
    text = (
        'start: item+\nitem: "a" _NL [_IN item+ _OUT]\n'
        f"_NL: /(\\n *|#{inside}*)+/\nCOMMENT: /#{inside}*/\n"
        "%declare _IN _OUT\n%ignore COMMENT\n%ignore / +/"
    )
    expr, over = lowered(text, postlex=Blocks), vocabulary()
    plain = Rows(Derivatives(expr, over.spellable), over, gw.Budget())
    fast = States(expr, Derivatives(expr, over.spellable), over, gw.Budget())
    state, rest = fast.start(b""), expr
    for byte in b"a #b ab\n  a# \n":
        assert state is not None
        assert rest is not None
        assert unpack(fast.mask(state)).tolist() == unpack(plain.row(rest)).tolist()
        state, rest = fast.after(state, byte), plain.after(rest, byte)
    found = fast._network.arena._array(at.MACRO_ELSE)
    assert int(np.max(found)) == elsewhere
