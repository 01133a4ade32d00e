"""What is said of the caches, and that emptying them changes nothing but time."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import guideway as gw

VOCABULARY = gw.Vocabulary([*(bytes((byte,)) for byte in range(256)), b"ab", b"<eos>"], {257})


def test_masks_and_constraints_are_counted() -> None:
    gw.clear_cache()
    empty = gw.cache_info()
    assert (empty.constraints, empty.compile_hits, empty.compile_misses) == (0, 0, 0)
    constraint = gw.compile(gw.Regex("[ab]{3}"), VOCABULARY)
    assert gw.compile(gw.Regex("[ab]{3}"), VOCABULARY) is constraint
    state = constraint.start()
    for _ in range(3):
        constraint.mask(state)
    info = gw.cache_info()
    assert (info.constraints, info.compile_hits, info.compile_misses) == (1, 1, 1)
    assert info.caches == empty.caches + 1
    assert info.rows > empty.rows
    assert info.row_bytes > empty.row_bytes
    assert info.states > empty.states
    assert info.bytes == info.row_bytes + info.state_bytes
    assert info.row_misses - empty.row_misses == 1
    assert info.row_hits - empty.row_hits == 2
    assert 0 < info.constraint_bytes <= min(info.bytes, info.most_constraint_bytes)
    assert info.most_constraints >= info.constraints


def test_a_constraint_that_nobody_holds_is_gone() -> None:
    gw.clear_cache()
    gc.collect()
    before = gw.cache_info().caches
    constraint = gw.compile(gw.Choice(["abba"]), VOCABULARY)
    assert gw.cache_info().caches == before + 1
    gw.clear_cache()
    assert gw.cache_info().caches == before + 1
    del constraint
    gc.collect()
    assert gw.cache_info().caches == before


def test_clearing_in_the_middle_of_a_text_changes_no_mask() -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "object"}), VOCABULARY)
    state, masks = constraint.start(), list[np.ndarray]()
    text = b'{"k": [1, "x"], "l": {}}'
    for byte in text:
        masks.append(constraint.mask(state).copy())
        state = constraint.advance(state, byte)
    state = constraint.start()
    for byte, mask in zip(text, masks, strict=True):
        assert (constraint.mask(state) == mask).all()
        gw.clear_cache()
        assert (constraint.mask(state) == mask).all()
        state = constraint.advance(state, byte)
    assert constraint.accepts(state)


def test_clearing_while_another_thread_reads_changes_no_mask() -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "array"}), VOCABULARY)
    start = constraint.start()
    expected = constraint.mask(start).copy()
    done = threading.Event()

    def clear() -> None:
        while not done.is_set():
            gw.clear_cache()
            gw.cache_info()

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        for _ in range(50):
            state = start
            for byte in b'[1,"a"]':
                state = constraint.advance(state, byte)
            assert constraint.accepts(state)
            assert (constraint.mask(start) == expected).all()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("ask", ["distance", "forced_bytes", "matches"])
def test_who_asks_for_ends_waits_for_who_asks_for_masks(ask: str) -> None:
    # Each kind of question held a lock of its own, and both changed the same recognizer: threads
    # that shared the meet of a schema and a regex had tokens of their masks rejected.
    source = gw.JsonSchema({"type": "object"}) & gw.Regex("(?s).{5,60}")
    constraint = gw.compile(source, VOCABULARY)
    question = "{}" if ask == "matches" else constraint.start()
    with ThreadPoolExecutor(1) as threads:
        with constraint._states.lock:
            asked = threads.submit(getattr(constraint, ask), question)
            with pytest.raises(TimeoutError):
                asked.result(timeout=0.2)
        asked.result()


def test_what_constraints_share_is_counted_and_given_back() -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "string"}), VOCABULARY)
    kept = constraint.start()
    mask = constraint.mask(constraint.advance(kept, ord('"'))).copy()
    shared = [weakref.ref(part) for part in (kept.pda.mask_cache, kept.pda.dfa)]
    full = gw.cache_info().state_bytes
    gw.clear_cache()
    assert gw.cache_info().state_bytes < full
    assert (constraint.mask(constraint.advance(kept, ord('"'))) == mask).all()
    del kept
    gw.clear_cache()  # the mask of the old state was remembered once more
    gc.collect()
    assert [part() for part in shared] == [None, None]
