r"""How large a Lark grammar is, told from its text."""

import pytest

from fairlead.errors import LimitError
from fairlead.syntax.lark_reader import read_lark
from fairlead.syntax.lark_sizes import DEEPEST, check_size
from fairlead.syntax.lark_source import Lark


def nested(depth):
    return f"start: {'(' * depth}'a'{')' * depth}".replace("'", '"')


def test_parentheses_within_parentheses_are_counted():
    assert read_lark(Lark(nested(300))).rules == {"start": (("A",),)}
    check_size(nested(DEEPEST), id)
    with pytest.raises(LimitError, match="within 400 others") as refused:
        check_size('x: "a"\n' + nested(DEEPEST + 1), id)
    assert refused.value.place == f"line 2, column {len('start: ') + DEEPEST + 1}"


@pytest.mark.parametrize("text", ['x: "{}"', "x: /[{}]/", "// {}", "# {}", "x: {}\ny: {}"])
def test_what_is_no_parenthesis_of_a_rule_is_not(text):
    check_size(text.replace("{}", "(" * DEEPEST), id)
    with pytest.raises(LimitError):
        check_size(text.replace("{}", "(" * DEEPEST) + "\nz: " + "[" * (DEEPEST + 1), id)


def test_words_are_paid_for():
    paid = []
    check_size('start: "a b" /c d/ e | start // "f"\n# g', paid.append)
    assert len(paid) == 5
