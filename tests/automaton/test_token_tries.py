"""Packed rows against sets."""

import gc
import os
import random
import subprocess
import sys
import threading
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import (
    Held,
    count,
    has,
    pack,
    track,
    tracked,
    unpack,
    untouched,
    words,
)

widths = st.integers(1, 130)


@given(widths.flatmap(lambda w: st.tuples(st.just(w), st.sets(st.integers(0, w - 1)))))
def test_a_row_holds_exactly_its_ids(case):
    width, ids = case
    row = pack(ids, width)
    assert row.dtype == np.uint32
    assert len(row) == words(width) == (width + 31) // 32
    assert unpack(row).tolist() == sorted(ids)
    assert count(row) == len(ids)
    assert [t for t in range(-3, width + 40) if has(row, t)] == sorted(ids)
    assert row.tobytes() == pack(np.array(sorted(ids), np.int32), width).tobytes()


@pytest.mark.parametrize("share", [0, 0.001, 0.09, 0.5, 1])
def test_ids_of_sparse_and_of_dense_rows_are_the_same(share):
    ids = np.flatnonzero(np.random.default_rng(4).random(5000) < share)
    assert unpack(pack(ids.astype(np.int32), 5000)).tolist() == ids.tolist()


def test_token_t_is_bit_t_mod_32_of_word_t_div_32():
    assert [int(word) for word in pack([0, 31, 32, 65], 70)] == [1 | 1 << 31, 1, 2]


def test_rows_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        pack([1], 8)[0] = 0


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked there")
def test_what_a_forked_process_writes_is_its_own():
    numbers = untouched(4, np.int32)
    numbers[0] = 1
    child = os.fork()
    if not child:
        numbers[:] = 7
        os._exit(int(numbers[0]))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert numbers.tolist() == [1, 0, 0, 0]


class Held7:
    def held(self) -> Held:
        return Held(rows=7, row_bytes=70, states=1, state_bytes=2, hits=3, misses=4)

    def forget(self) -> None: ...


def test_threads_may_come_and_go_with_caches() -> None:
    def work() -> None:
        for _ in range(200):
            track(Held7())
            tracked()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not any(isinstance(cache, Held7) for cache in tracked())


WHOLE = (
    *(bytes((b,)) for b in range(256)),
    *["straße", "naïve", "été", "日本語", "テスト",
    "привет", "🙂🙃", "e\u2028f", "\u2029", "\x85\u00a0©",
      "\u1680ကᚁ", "\u2000\u200a\u200b\u202f“a”", "\u205f\u2060\u3000、", "\ufeffﻠ", "Ａ", "ﬁ"],
)  # fmt: skip
PATTERNS = (
    *(".*x?", "[^x]*", "(?:é|[a-z])*", "[^\\u2028]+é", "(?:[^é]|éa)*", ".*a.*", "[ -~]*z"),
    *("\\S*", "(?:\\S+\\s)*", "[^\\s“]*a?", "[^\\u200b]*"),
)
# States that go round until something else comes, which is what a walk then goes to.
ENDED = (
    '"[^"\\n]*"', '"(?:[^"é]|é[^"z])*"', "(?:[^b\\u2028]|b[^a])*ba", "(?:[a-z ]|日)*1",
    "[^x]*x(?:[^y]|y[^b])*yb", '(?:[^"\\u2028-\\u2030]|"a)*"b',
)  # fmt: skip
# Strings in which letters lead on and on: some word is looked for, or left out.
_ANY = '[^"\\\\]'
SEARCHED = (
    f'"{_ANY}*(?:int|float|ab|ent|la|ta){_ANY}*"',
    f'"{_ANY}*(?:é|ab|ei|fa|in|li){_ANY}*"',
    '"[^"\\\\\u2028]*(?:ab|en|in|ta)[^"\\\\\u2028]*"',
    f'"{_ANY}*[abe]{_ANY}{{2}}"',
    f'"(?:{_ANY}*[ae]{_ANY}{{6}}a{_ANY}*|[^"\\\\é]*b)"',
    f'"(?:(?:\\\\[bu"]|{_ANY})*[a-z]t)?(?:\\\\[bu"]|{_ANY})*[aefi]b"',
    '"(?:[^"\\\\ab]|a[^"\\\\e])*e"',
    # Short counts that go on as they began, up to the quote.
    '"[a-l]{2,6}[a-z]*"',
    '"[a-z]{1,8}(?:[a-z]+[ -/])*"',
    f'"é[a-l]{{0,5}}{_ANY}*z?"',
)
# Characters that are counted in states: some of these accept, and some read fewer than others.
COUNTED = (
    "(?:[a-z]{9}b|[axy]{3,7}z|[bz]{2,5}x)",
    "(?:[a-z]{4}x*|[x-z]{2,6}a)?",
    "(?:[abxz]{2}a?b?){3}|z",
    "(?:[a-z]{2,4}1|[a-z]{2,7}|22)?(?:[bz][a-z]|1)",
)


def vocabulary(seed: int, letters: list[str], count: int, more: set[bytes]) -> gw.Vocabulary:
    """Words of some letters, among others; some of them are cut off within a character."""
    chance, tokens = random.Random(seed), set(more)
    while len(tokens) < count:
        word = "".join(chance.choices(letters, k=chance.randint(1, 6))).encode()
        tokens.add(word[: -chance.choice((0, 0, 1, 2))] or word)
    return gw.Vocabulary([*sorted(tokens), b"<end>"], eos_ids={len(tokens)})


PARTS = ["a", "b", "xy", "é", "ß", "日", "本", "🙂", "\u2028", "\u2029", "z", '"', "\n"]
WORDS = {word if isinstance(word, bytes) else word.encode() for word in WHOLE}
LETTERS = [*map(chr, range(0x20, 0x7F)), "é", "日", "\u2028", *"abefilnt" * 12]
QUOTED = {bytes((b,)) for b in range(256)} | {b"float", '"é'.encode(), '"aé'.encode()}
SHORT = {bytes(word) for n in range(1, 6) for word in product(b"abxz", repeat=n)} | {b"1"}


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        ((*PATTERNS, *ENDED), vocabulary(7, PARTS, 3000, WORDS)),
        (SEARCHED, vocabulary(13, LETTERS, 4000, QUOTED)),
        (COUNTED, vocabulary(9, [], 0, SHORT)),
    ],
    ids=["loops and their ends", "searches", "counts"],
)
def test_masks_of_patterns_have_what_reading_each_token_finds(
    patterns: tuple[str, ...], words: gw.Vocabulary
) -> None:
    """At the beginning, and behind some tokens."""
    chance = random.Random(8)
    for pattern in patterns:
        constraint = gw.compile(gw.Regex(pattern), words)
        after, end = constraint._states.after, len(words.tokens) - 1
        for _ in range(2):
            state = constraint.start()
            for _ in range(2):
                allowed = [t for t in unpack(constraint.mask(state)).tolist() if t != end]
                assert allowed == [t for t in range(end) if after(state, t) is not None]
                if allowed:
                    state = constraint.advance(state, chance.choice(allowed))


SCARCE = """
import gc, resource
import numpy as np
import guideway as gw
from guideway.automaton.token_tries import untouched

gc.disable()
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
for _ in range(8):
    ring = [untouched(1 << 31, np.int8)]  # 2 GiB, in a cycle
    ring.append(ring)
try:
    untouched(1 << 34, np.int8)
except gw.LimitError as error:
    print(error.limit, error.needed)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are those of Linux")
def test_address_space_of_dropped_automata_is_taken_back_and_its_end_is_told():
    done = subprocess.run(
        [sys.executable, "-c", SCARCE], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == (f"bytes of address space {1 << 34}\n", "")
