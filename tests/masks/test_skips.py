"""What is said of parts of a vocabulary's trie is what walking them finds."""

import random

import fairlead as fl
from fairlead.masks.bits import unpack

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
        "Ａ",
        "ﬁ",
    ],
)
PATTERNS = (".*x?", "[^x]*", "(?:é|[a-z])*", "[^\\u2028]+é", "(?:[^é]|éa)*", ".*a.*", "[ -~]*z")


def _vocabulary(seed: int) -> fl.Vocabulary:
    """Many words with common beginnings, some of them cut off within a character."""
    chance = random.Random(seed)
    parts = ["a", "b", "xy", "é", "ß", "日", "本", "🙂", "\u2028", "\u2029", "z", '"', "\n"]
    tokens = {word if isinstance(word, bytes) else word.encode() for word in WHOLE}
    while len(tokens) < 3000:
        word = "".join(chance.choices(parts, k=chance.randint(1, 6))).encode()
        tokens.add(word[: -chance.randint(0, 2)] or word)
    ordered = sorted(tokens)
    return fl.Vocabulary([*ordered, b"<end>"], eos_ids={len(ordered)})


def test_masks_of_patterns_that_loop_have_what_reading_each_token_finds() -> None:
    words = _vocabulary(7)
    chance = random.Random(8)
    for pattern in PATTERNS:
        constraint = fl.compile(fl.Regex(pattern), words)
        states = constraint._states
        for _ in range(2):
            state = constraint.start()
            for _ in range(2):
                allowed = set(unpack(constraint.mask(state)).tolist()) - words.eos_ids
                for token in range(len(words.tokens) - 1):
                    assert (token in allowed) == (states.after(state, token) is not None)
                state = constraint.advance(state, chance.choice(sorted(allowed)))
