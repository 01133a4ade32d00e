"""Templates that would never end are refused; all others are those of Lark."""

import lark
import pytest

import guideway as gw
from guideway.context_free.lark.reader import read_lark
from guideway.errors import LimitError

ENDLESS = [
    'start: t{"a"}\nt{x}: "b" t{u{x}} | x\nu{x}: x x',
    'start: t{"a"}\nt{x}: x t{_p{x}} | x\n_p{x}: x x',
    'start: t{A, A}\nt{x, y}: x | t{p{x, y}, p{x, x}}\np{x, y}: x y\nA: "a"',
]


@pytest.mark.parametrize("text", ENDLESS)
def test_templates_that_ask_for_ever_larger_ones_are_refused(text):
    with pytest.raises(LimitError, match=r"template '(t|u|p|_p)' comes to more rules") as caught:
        read_lark(gw.Lark(text))
    assert caught.value.limit == "rules of templates"
    assert len(str(caught.value)) <= 500


ENDING = [
    'start: list{"a"} | list{pair{B, "c"}}\nlist{x}: x ("," x)*\npair{x, y}: "(" x y ")"\nB: "b"',
    'start: t{"a"}\nt{x}: "b" t{x} | x',
    'start: m{u, "a"} | m{v, "b"}\nm{f, x}: f{x}\nu{x}: x x\nv{x}: x | x v{x}',
]


@pytest.mark.parametrize("text", ENDING)
def test_others_come_to_the_rules_of_lark(text):
    made = {str(rule.origin.name) for rule in lark.Lark(text, parser="lalr").rules}
    assert {each for each in made if "{" in each} <= read_lark(gw.Lark(text)).rules.keys()
