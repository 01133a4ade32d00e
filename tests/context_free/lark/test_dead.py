"""What no text stands behind is taken out of Lark's automaton, and no more than that."""

import pytest

from guideway.context_free.lark.errors import LarkTable
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark


def table(text: str, **options) -> LarkTable:
    found = read_lark(Lark(text, **options)).table
    assert found is not None
    return found


def test_it_has_no_action_for_what_leads_nowhere():
    made = table('start: "a" | "b" NO\n%declare NO')
    assert made.shifts[made.start].keys() == {"A"}
    assert made.named(made.wanted[made.start]) == ["A", "B"]  # which the lexer tries as before
    behind = [state for state, kernel in enumerate(made.kernels) if not kernel]
    assert len(behind) == 4  # the start, the end, and behind each part of the second row
    assert not any(made.shifts[state] for state in behind if state != made.start)
    assert sum(map(len, made.shifts)) == 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        # Another row goes on behind it; or a rule, whose name is not read by what is at hand.
        ('start: "a" | "b" NO | "b" "c"\n%declare NO', {"A", "B"}),
        ('start: "a" | x NO\nx: "b"\n%declare NO', {"A", "B"}),
        # Rules that have no text by that.
        ('start: "a" | "b" x\nx: y "c"\ny: NO | "c" NO\n%declare NO', {"A"}),
        ('start: "a" | "b" x\nx: y "c"\ny: NO | "c"\n%declare NO', {"A", "B"}),
        # Nothing is declared.
        ('start: "a" | "b" x\nx: "b" x', {"A", "B"}),
    ],
)
def test_what_goes_on_otherwise_is_kept(text, kept):
    made = table(text)
    assert made.shifts[made.start].keys() == kept


def test_what_is_denied_in_a_state_that_is_gone_is_gone():
    rows = 'start: "a" | "b" s NO\ns: "i" s | "i" s "e" s | "x"\n%declare NO'
    assert table(rows.replace("NO", '"c"', 1)).denied
    assert not table(rows).denied
