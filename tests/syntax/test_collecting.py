"""Python's collector comes at the end of what made much, where it would soon have come anyway."""

import gc
from collections.abc import Generator

import pytest

from fairlead.syntax.collecting import collected

_MUCH = 2000


@pytest.fixture
def looks() -> Generator[list[int]]:
    """The generations that are looked through, the middle one being due after three looks more."""
    found, limits, enabled = list[int](), gc.get_threshold(), gc.isenabled()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.enable()
    gc.set_threshold(700, 10, 10)
    gc.collect()
    for _ in range(8):
        gc.collect(0)
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    gc.set_threshold(*limits)
    (gc.enable if enabled else gc.disable)()


def _make(count: int) -> list[list[int]]:
    return [[number] for number in range(count)]


def test_what_made_much_is_looked_through_at_its_end(looks: list[int]) -> None:
    with collected():
        kept = _make(_MUCH)
        assert looks
        assert 1 not in looks
    assert looks[-1] == 1
    assert len(kept) == _MUCH


def test_what_made_little_is_not(looks: list[int]) -> None:
    with collected():
        _make(1)
    assert looks == []


def test_nor_is_anything_where_nobody_wants_it(looks: list[int]) -> None:
    with collected():
        kept = _make(_MUCH)
        gc.disable()
        before = len(looks)
    assert len(looks) == before
    assert len(kept) == _MUCH


def test_python_decides_whether_to_look_at_all_there_is(looks: list[int]) -> None:
    old = _make(50_000)  # of which a quarter is more than what is new
    gc.collect()
    for _ in range(11):
        gc.collect(1)
    for _ in range(8):
        gc.collect(0)
    looks.clear()
    with collected():
        kept = _make(_MUCH)
    assert set(looks[looks.index(1) :]) == {1, 0}
    assert len(old) > len(kept) == _MUCH
