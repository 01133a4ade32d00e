"""A ratchet on the official JSON Schema Test Suite: no case gets worse, none is unsound.

The states reached are in json_schema_suite.txt. A seeded sample runs each time; all of it runs with
`pytest -m slow tests/suites`, and with GUIDEWAY_REBASE=1 writes down what it finds.
"""

import os
import random

import pytest

from json_schema_suite import (
    BASELINE,
    Part,
    baseline,
    judge,
    parts,
    table,
    worse,
    write_baseline,
)

SAMPLE = 40


def sample() -> list[Part]:
    return random.Random(2).sample(parts(), SAMPLE)


def test_a_sample_of_the_suite_is_as_good_as_it_was_and_never_unsound():
    before = baseline()
    for part in sample():
        found = judge(part)
        assert not worse(found, before[str(part)]), part
        assert "U" not in found, part


@pytest.mark.slow
def test_the_whole_suite_is_as_good_as_it_was_and_never_unsound():
    found = {str(part): judge(part) for part in parts()}
    if os.environ.get("GUIDEWAY_REBASE"):
        write_baseline(found)
    assert [part for part, states in found.items() if "U" in states] == []
    assert found == baseline(), f"the states in {BASELINE.name} are others\n{table(found)}"


def test_the_baseline_has_every_case_and_none_that_is_unsound():
    before = baseline()
    assert set(before) == {str(part) for part in parts()}
    assert "U" not in "".join(states for part, states in before.items() if part.endswith("any"))


def test_states_are_ranked():
    assert worse("..x", "...")
    assert worse(".U .", ".i .")
    assert not worse(".. .", "xi o")
    assert worse("..", "...")
