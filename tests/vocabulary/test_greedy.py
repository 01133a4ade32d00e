"""As long as they can be, tokens spell a text in hardly more than the fewest."""

import random

import fairlead as fl
from fairlead.constraints.segmentation import fewest_tokens
from fairlead.vocabulary.greedy import greedy_tokens

TOKENS = [*"abc", "ab", "abc", "bc", "cab", "ca", "aaaa", "aab", "abcc"]
VOCABULARY = fl.Vocabulary([token.encode() for token in TOKENS])


def test_each_is_the_longest_that_comes_next():
    chance, more = random.Random(1), 0
    for _ in range(300):
        text = "".join(chance.choices("abc", k=chance.randrange(12)))
        spelled, count = text, 0
        while spelled:
            longest = max((token for token in TOKENS if spelled.startswith(token)), key=len)
            spelled, count = spelled[len(longest) :], count + 1
        told, fewest = (
            greedy_tokens(VOCABULARY, text.encode()),
            fewest_tokens(VOCABULARY, text.encode()),
        )
        assert told == count
        assert fewest is not None
        assert fewest <= told <= len(text)
        more += told > fewest
    assert 0 < more < 100
