"""What is said of parts of a vocabulary's trie is what walking them finds."""

import random
from itertools import product

import guideway as gw
from guideway.automaton.token_tries import unpack

WHOLE = (
    *(bytes((b,)) for b in range(256)),
    *[
        "straße",
        "naïve",
        "été",
        "日本語",
        "テスト",
        "привет",
        "🙂🙃",
        "e\u2028f",
        "\u2029",
        "\x85\u00a0©",
        "\u1680ကᚁ",
        "\u2000\u200a\u200b\u202f“a”",
        "\u205f\u2060\u3000、",
        "\ufeffﻠ",
        "Ａ",
        "ﬁ",
    ],
)
PATTERNS = (
    *(".*x?", "[^x]*", "(?:é|[a-z])*", "[^\\u2028]+é", "(?:[^é]|éa)*", ".*a.*", "[ -~]*z"),
    *("\\S*", "(?:\\S+\\s)*", "[^\\s“]*a?", "[^\\u200b]*"),
)
# States that go round until something else comes, which is what a walk then goes to.
ENDED = (
    '"[^"\\n]*"',
    '"(?:[^"é]|é[^"z])*"',
    "(?:[^b\\u2028]|b[^a])*ba",
    "(?:[a-z ]|日)*1",
    "[^x]*x(?:[^y]|y[^b])*yb",
    '(?:[^"\\u2028-\\u2030]|"a)*"b',
)
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


def _vocabulary(seed: int) -> gw.Vocabulary:
    """Many words with common beginnings, some of them cut off within a character."""
    chance = random.Random(seed)
    parts = ["a", "b", "xy", "é", "ß", "日", "本", "🙂", "\u2028", "\u2029", "z", '"', "\n"]
    tokens = {word if isinstance(word, bytes) else word.encode() for word in WHOLE}
    while len(tokens) < 3000:
        word = "".join(chance.choices(parts, k=chance.randint(1, 6))).encode()
        tokens.add(word[: -chance.randint(0, 2)] or word)
    ordered = sorted(tokens)
    return gw.Vocabulary([*ordered, b"<end>"], eos_ids={len(ordered)})


def _agree(pattern: str, words: gw.Vocabulary, chance: random.Random) -> None:
    """Masks of a pattern have the tokens that are read, at the beginning and behind some tokens."""
    constraint = gw.compile(gw.Regex(pattern), words)
    states = constraint._states
    for _ in range(2):
        state = constraint.start()
        for _ in range(2):
            allowed = set(unpack(constraint.mask(state)).tolist()) - words.eos_ids
            for token in range(len(words.tokens) - 1):
                assert (token in allowed) == (states.after(state, token) is not None)
            if allowed:
                state = constraint.advance(state, chance.choice(sorted(allowed)))


def test_masks_of_patterns_that_loop_have_what_reading_each_token_finds() -> None:
    words, chance = _vocabulary(7), random.Random(8)
    for pattern in PATTERNS:
        _agree(pattern, words, chance)


def test_masks_of_patterns_that_end_somewhere_have_what_reading_each_token_finds() -> None:
    words, chance = _vocabulary(11), random.Random(12)
    for pattern in ENDED:
        _agree(pattern, words, chance)


def test_masks_of_patterns_that_are_looked_for_have_what_reading_each_token_finds() -> None:
    chance = random.Random(13)
    letters = [*map(chr, range(0x20, 0x7F)), "é", "日", "\u2028", *"abefilnt" * 12]
    tokens = {bytes((b,)) for b in range(256)} | {b"float", '"é'.encode(), '"aé'.encode()}
    while len(tokens) < 4000:
        word = "".join(chance.choices(letters, k=chance.randint(1, 6))).encode()
        tokens.add(word[: -chance.choice((0, 0, 0, 1))] or word)
    ordered = sorted(tokens)
    words = gw.Vocabulary([*ordered, b"<end>"], eos_ids={len(ordered)})
    for pattern in SEARCHED:
        _agree(pattern, words, chance)


def test_masks_of_patterns_that_count_in_states_have_what_reading_each_token_finds() -> None:
    every = [bytes(word) for n in range(1, 6) for word in product(b"abxz", repeat=n)]
    words, chance = (
        gw.Vocabulary([*every, b"1", b"<end>"], eos_ids={len(every) + 1}),
        random.Random(9),
    )
    for pattern in COUNTED:
        _agree(pattern, words, chance)
