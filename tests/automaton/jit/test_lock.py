"""Short requests keep Python's lock, long ones let other threads run."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import guideway as gw
from guideway.automaton.jit.operands import inner, release, take_again
from guideway.automaton.jit.statements import Kernels
from random_walks import BYTES, read


@contextmanager
def other_thread() -> Iterator[list[int]]:
    """Another thread, which counts how often it was let; nothing makes this one let it."""
    turns, done, before = [0], threading.Event(), sys.getswitchinterval()

    def count() -> None:
        while not done.is_set():
            turns[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    sys.setswitchinterval(1000)
    try:
        thread.start()
        time.sleep(0.01)
        yield turns
    finally:
        done.set()
        sys.setswitchinterval(before)
        thread.join()


@inner
def work(steps: int, lets: int) -> int:
    thread = release() if lets != 0 else 0
    found = steps
    for step in range(steps):
        found = (found * 6364136223846793005 + step) % 1000003
    if lets != 0:
        take_again(thread)
    return found


@inner
def work_apart(steps: int, lets: int) -> int:
    found = steps
    for step in range(steps):
        found = (found * 6364136223846793005 + step) % 1000003
    return found


kernels = Kernels(holding=[work], letting=[work_apart])
loaded = kernels.loaded(kernels.machine_code())


@pytest.mark.parametrize(("name", "lets"), [("work", True), ("work", False), ("work_apart", True)])
def test_what_releases_the_lock_lets_others_run_and_gives_the_same(name: str, lets: bool) -> None:
    expected = loaded["work"](20_000_000, 0)
    with other_thread() as turns:
        before = turns[0]
        found = loaded[name](20_000_000, lets)
        after = turns[0]
    assert found == expected
    assert (after > before) == lets


def test_a_small_constraint_keeps_the_lock_while_it_reads() -> None:
    text = b'{"a": 17, "b": [true]}'

    one, other = (
        gw.compile(gw.JsonSchema({"title": title, "properties": {"a": {"type": "integer"}}}), BYTES)
        for title in ("one", "other")
    )
    assert read(one, text)  # lexical states and their state masks are made without the lock
    with other_thread() as turns:
        before = turns[0]
        state = read(other, text)
        after = turns[0]
    assert other.accepts(state)
    assert after == before
