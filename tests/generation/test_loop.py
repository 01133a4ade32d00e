import math

import pytest

from guideway.errors import GuidewayError, ModelError
from guideway.generation.loop import Decoding
from guideway.generation.row.request import Completion, Request
from guideway.models.fake import FakeModel
from guideway.sampling.settings import Sampling
from guideway.vocabulary.vocabulary import Vocabulary
from whole_batches import generate

LETTERS = Vocabulary([b"a", b"b", b"c", b"\xc3", b"\xa9", b"<eos>", None], eos_ids={5}, width=8)


def spelling(*tokens: int) -> FakeModel:
    """A model that wants exactly these tokens, one after another, whatever the prompt."""

    def logits(prefix: tuple[int, ...]) -> list[float]:
        row = [0.0] * 8
        row[tokens[min(len(prefix) - 1, len(tokens) - 1)]] = 9.0
        return row

    return FakeModel(LETTERS, logits)


def one(model: FakeModel, **settings: object) -> Completion:
    return generate(model, [Request((0,), sampling=Sampling.of(settings))])[0]


def test_greedy_text_ends_at_an_end_id_and_leaves_it_out():
    done = one(spelling(0, 1, 5))
    assert (done.text, done.tokens, done.finish_reason) == ("ab", (0, 1), "stop")
    assert len(done.logprobs) == 2
    assert done.log_allowed == (0.0, 0.0, 0.0)
    assert done.seed is None


def test_a_character_of_two_tokens_is_told_whole():
    decoding = Decoding(spelling(0, 3, 4, 5), [Request((0,))])
    assert [event.text for event in decoding] == ["a", "", "é", ""]


@pytest.mark.parametrize("stop", ["bc", "b"])
def test_a_stop_string_is_cut_off_and_its_beginning_is_never_told(stop: str):
    decoding = Decoding(spelling(0, 1, 2, 0, 5), [Request((0,), sampling=Sampling(stop=stop))])
    assert "".join(event.text for event in decoding) == "a"
    done = decoding.completions[0]
    assert (done.text, done.finish_reason) == ("a", "stop")


def test_a_row_that_fails_leaves_the_others_as_they_are():
    def logits(prefix: tuple[int, ...]) -> list[float]:
        return [math.nan if prefix[:2] == (1, 0) else 1.0] + [0.0] * 7

    requests = [Request((n,), sampling=Sampling(max_new_tokens=4)) for n in range(3)]
    model, failed = FakeModel(LETTERS, logits), dict[int, GuidewayError]()
    decoding = Decoding(model, requests, failed.__setitem__)
    events = list(decoding)
    first, second, third = decoding.completions
    assert [first, third] == [generate(model, [requests[n]])[0] for n in (0, 2)]
    assert (second.text, second.finish_reason, second.error) == ("a", "error", failed[1])
    assert [event.finish_reason for event in events if event.row == 1] == [None, "error"]
    with pytest.raises(ModelError, match=r"^row 1: the model gave NaN .* at step 1"):
        generate(model, requests)
