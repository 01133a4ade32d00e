"""Shipped grammars that meet regexes: refused by name when compiled, or read to any length.

After `compile` returns nothing fails: each mask along a random walk has a token, and where the text
may end `re` says the same of what it meets.
"""

import random
import re

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import LimitError, UnsatisfiableError

BYTES = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
GRAMMARS = (
    "arithmetic", "json", "json_lines", "graphql", "lark", "mermaid", "regex", "sql", "toml", "xml",
    "yaml",
)  # fmt: skip
MEETINGS = (("(?s).{1,200}", True), (r"(?s).*\*.*", False), ("(?s).*ab.*", True))
LONG = {(name, MEETINGS[0][0]) for name in ("mermaid", "toml", "yaml")}  # nightly
MET = [
    pytest.param(name, *met, marks=[pytest.mark.slow] if (name, met[0]) in LONG else [])
    for name in GRAMMARS
    for met in MEETINGS
]


@pytest.mark.untraced
@pytest.mark.parametrize(("name", "regex", "wanted"), MET)
def test_no_mask_fails_once_all_is_compiled(name: str, regex: str, wanted: bool) -> None:
    grammar, partner = gw.grammar(name), gw.Regex(regex)
    try:
        constraint = gw.compile(grammar & partner if wanted else grammar - partner, BYTES)
    except (LimitError, UnsatisfiableError) as error:
        said = str(error)
    else:
        _walk(constraint, regex, wanted)
        return
    assert "Regex(" in said
    assert "Lark(" in said or "Gbnf(" in said


def _walk(constraint: CompiledConstraint, regex: str, wanted: bool) -> None:
    for seed in range(2):
        dice, state, text = random.Random(seed), constraint.start(), b""
        for _ in range(30):
            allowed = unpack(constraint.mask(state)).tolist()
            assert allowed, text
            if constraint.accepts(state):
                assert (re.fullmatch(regex, text.decode()) is not None) is wanted
            shown = [token for token in allowed if 32 <= token < 127]
            token = dice.choice(shown or [token for token in allowed if token < 256] or [256])
            if token == 256:
                break
            state, text = constraint.advance(state, token), text + bytes((token,))
