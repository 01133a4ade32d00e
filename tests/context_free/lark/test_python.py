r"""Python by the grammar in the lark package: what Lark parses with it, and nothing else."""

import random
import sysconfig
from functools import lru_cache
from pathlib import Path

import lark
import pytest
from lark.indenter import PythonIndenter

from guideway.constraint.lowering import lower_source
from guideway.context_free.lark.lowering import lower_lark
from guideway.language.derivative import Derivatives
from lark_samples import ERRORS, python_lark, python_tree

SHORT = """\
import a.b as c, d
@e(1)
def f(g: int = 0x1F, *h, i="j", **k) -> l:
    '''Two
    lines.'''
    if m < 1.5e3 and not n[1:, ...]:  # a comment

\t  o = {p: q for p in (r,
    s) if t}
    elif u:
        pass
    return lambda v: v.w(f"{x}" rb'\\'' '''y''')
match z:
    case [1, _]: match = case = 1_0j
"""


@lru_cache(maxsize=1)
def own() -> lark.Lark:
    return lark.Lark(
        python_lark().read_text(), parser="lalr", start="file_input", postlex=PythonIndenter()
    )


@lru_cache(maxsize=1)
def machine() -> Derivatives:
    return Derivatives(lower_lark(python_tree(), lower_source))


def parses(text: str) -> bool:
    try:
        own().parse(text)
    except ERRORS:
        return False
    return True


def reads(text: str) -> bool:
    state = machine().start()
    for byte in text.encode():
        following = machine().step(state, byte)
        if following is None:
            return False
        state = following
    return machine().accepts(state)


def mutated(text: str, dice: random.Random) -> str:
    """The text with something left out, twice or elsewhere."""
    at, length = dice.randrange(len(text)), dice.choice([1, 1, 2, 5])
    piece = text[at : at + length]
    to = dice.choice([at, at, dice.randrange(len(text))])
    return dice.choice(
        [
            text[:at] + text[at + length :],
            text[:to] + piece + text[to:],
            text[:at] + " " + text[at:],
        ]
    )


@pytest.mark.untraced
def test_what_lark_parses_is_read_and_what_it_refuses_is_not():
    dice = random.Random(5)
    texts = [SHORT, *(mutated(SHORT, dice) for _ in range(5))]
    told = [parses(text) for text in texts]
    assert told[0]
    assert not all(told)
    assert [reads(text) for text in texts] == told


def library() -> list[Path]:
    folder = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)


@pytest.mark.slow
def test_the_sources_of_the_standard_library_are_read():
    dice = random.Random(6)
    for path in library():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        assert reads(text) == parses(text), path
        if text:
            other = mutated(text, dice)
            assert reads(other) == parses(other), path
