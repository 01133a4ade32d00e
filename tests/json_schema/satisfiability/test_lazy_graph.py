"""Graphs of parts, against closures that are computed by repetition until nothing changes."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.satisfiability.parts import Instances, has_loop, reaching

PARTS: list[dict[str, Any]] = [{} for _ in range(6)]
NUMBERS = st.integers(0, len(PARTS) - 1)
EDGES = st.dictionaries(NUMBERS, st.lists(NUMBERS, max_size=3))


def steps(edges: dict[int, list[int]]) -> set[tuple[int, int]]:
    """Who reaches whom in one step or more."""
    found = {(one, other) for one, below in edges.items() for other in below}
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


@given(EDGES)
def test_a_part_that_reaches_itself_is_a_loop(edges):
    in_place = {id(PARTS[one]): [PARTS[n] for n in below] for one, below in edges.items()}
    assert has_loop(in_place) is any(one == other for one, other in steps(edges))


@given(EDGES, st.sets(NUMBERS))
def test_what_reaches_a_goal_is_the_goal_or_has_steps_to_it(edges, goals):
    below = [(id(PARTS[one]), [PARTS[n] for n in parts]) for one, parts in edges.items()]
    expected = goals | {one for one, other in steps(edges) if other in goals}
    assert reaching({id(PARTS[goal]) for goal in goals}, below) == {id(PARTS[n]) for n in expected}


@given(
    st.lists(st.tuples(NUMBERS, st.lists(NUMBERS | st.booleans(), max_size=3), st.booleans())),
    st.sets(NUMBERS),
    st.sets(NUMBERS),
)
def test_instances_are_the_least_set_that_is_closed_under_what_waits(waiting, sure, wild):
    def part(named):
        return named if isinstance(named, bool) else PARTS[named]

    known = Instances()
    known.sure.update(id(PARTS[n]) for n in sure)
    for one, needed, every in waiting:
        known.wait(PARTS[one], [part(named) for named in needed], every=every)
    known.settle({id(PARTS[n]) for n in wild})

    def holds(named):
        return named if isinstance(named, bool) else named in expected

    expected, before = set(sure), None
    while before != expected:
        before = set(expected)
        for one, needed, every in waiting:
            if one not in wild and (all if every else any)(map(holds, needed)):
                expected.add(one)
    assert known.sure == {id(PARTS[n]) for n in expected}


@pytest.mark.untraced
def test_chains_have_no_depth():
    chain: list[Any] = [{} for _ in range(20_000)]
    edges = {id(one): [other] for one, other in pairwise(chain)}
    assert not has_loop(edges)
    assert has_loop({**edges, id(chain[-1]): [chain[0]]})
    assert len(reaching({id(chain[-1])}, list(edges.items()))) == len(chain)
    known = Instances()
    known.wait(chain[-1], [True], every=True)
    for one, other in pairwise(chain):
        known.wait(one, [other], every=True)
    known.settle(())
    assert len(known.sure) == len(chain)
