"""The fewest tokens, against trying everything."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.constraints.segmentation import Segmentation, fewest_tokens
from fairlead.vocabulary.spellings import Vocabulary

words = st.lists(st.sampled_from(b"ab"), min_size=1, max_size=3).map(bytes)


@given(st.lists(words, min_size=1, max_size=5), st.lists(st.sampled_from(b"ab"), max_size=7))
def test_it_is_the_least_number_of_rounds(tokens, letters):
    text = bytes(letters)
    reached, rounds = {b""}, 0
    while text not in reached and rounds <= len(text):
        reached = {r + t for r in reached for t in tokens if text.startswith(r + t)}
        rounds += 1
    assert fewest_tokens(Vocabulary(tokens), text) == (rounds if text in reached else None)


@given(st.lists(words, min_size=1, max_size=5), st.lists(st.lists(st.sampled_from(b"ab"))))
def test_texts_one_after_another_are_each_told_as_if_alone(tokens, texts):
    vocabulary = Vocabulary(tokens)
    segmentation = Segmentation(vocabulary)
    for text in map(bytes, texts):
        assert segmentation.fewest(text) == fewest_tokens(vocabulary, text)
