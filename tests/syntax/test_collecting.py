"""When Python's collector waits, and that it comes again."""

import gc
import traceback
from collections import Counter
from collections.abc import Generator

import pytest

import fairlead as fl
from fairlead.syntax.collecting import uncollected, uninterrupted


@pytest.fixture(autouse=True)
def _collecting() -> Generator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_collector_waits_while_something_is_made_and_comes_again() -> None:
    assert uninterrupted(gc.isenabled) is False
    assert uninterrupted(lambda text, end: text + end, "a", end="b") == "ab"
    assert gc.isenabled()


def test_it_comes_again_where_nothing_could_be_made() -> None:
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 / 0)
    assert gc.isenabled()


def test_who_wants_no_collector_gets_none() -> None:
    gc.disable()
    assert uninterrupted(gc.isenabled) is False
    with uncollected(1 << 20):
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_it_waits_for_much_that_is_made_and_for_little_it_does_not() -> None:
    for count, waits in ((1 << 20, True), (1, False)):
        with uncollected(count):
            assert gc.isenabled() is not waits
        assert gc.isenabled()


def test_no_collection_is_met_on_the_way_to_a_first_mask() -> None:
    met = Counter[str]()

    def note(phase: str, info: dict[str, int]) -> None:
        met.update(frame.f_code.co_name for frame, _ in traceback.walk_stack(None))

    vocabulary = fl.Vocabulary([bytes([byte]) for byte in range(256)])
    schema = {"type": "object", "properties": {f"p{n}": {"enum": [n, "a"]} for n in range(2000)}}
    gc.callbacks.append(note)
    try:
        constraint = fl.compile(fl.JsonSchema(schema), vocabulary)
        constraint.mask(constraint.start())
    finally:
        gc.callbacks.remove(note)
    assert met.keys().isdisjoint(("_keep", "_remembered", "_started", "_mask"))
