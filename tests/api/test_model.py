"""`Model` on fake models: what a call gives for one prompt, for batches, for streams."""

import asyncio
import itertools
import json
import math
from enum import Enum

import pytest
from pydantic import BaseModel

import guideway as gw
from fake_answers import BYTES, Even, telling
from guideway.models.fake import FakeModel


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Car(BaseModel):
    colour: Colour
    doors: int


@pytest.fixture
def model():
    return gw.Model(FakeModel.random(BYTES))


def test_a_type_gives_a_value_of_the_type(model):
    result = model.generate("A car: ", Car, max_new_tokens=60, temperature=1.0, seed=3)
    assert isinstance(result.value, Car)
    assert result.value == Car.model_validate_json(result.text)
    assert str(result) == result.text
    assert bytes(result.tokens).decode() == result.text
    assert len(result.logprobs) == len(result.tokens)
    assert result.log_z < 0
    assert (result.finish_reason, result.error) == ("stop", None)
    assert 0 < result.stats.mass_removed < 1


def test_types_and_bare_schemas_are_held_to_their_plain_form(model):
    schema = {"properties": {"b": {"type": "integer"}, "a": {"const": 1}}, "required": ["a", "b"]}
    schema |= {"type": "object", "additionalProperties": False}
    for seed in range(5):
        result = model.generate("x", schema, max_new_tokens=80, seed=seed)
        assert list(result.value) == ["b", "a"]
        assert "\\u" not in result.text


def test_a_source_is_used_as_it_is(model):
    texts = {
        model.generate("x", gw.JsonSchema({"enum": [[1, 2]]}), max_new_tokens=40, seed=s).text
        for s in range(8)
    }
    assert all(json.loads(text) == [1, 2] for text in texts)
    assert len(texts) > 1


def test_a_batch_has_its_own_source_and_settings_for_each_row(model):
    settings = [gw.Sampling(seed=1), gw.Sampling(), gw.Sampling(seed=2, max_new_tokens=4)]
    results = model.generate(["a", "bb", "c"], [int, gw.Choice(["yes"]), None], sampling=settings)
    assert isinstance(results[0].value, int)
    assert results[1].value == "yes"
    assert len(results[2].tokens) <= 4
    alone = model.generate("c", None, sampling=settings[2])
    assert alone.text == results[2].text
    same = model.generate(["a", "b"], gw.Choice(["z"]), max_new_tokens=3)
    assert [result.text for result in same] == ["z", "z"]


def test_several_sequences_come_in_order_and_repeat_with_the_seed(model):
    first = model.generate("x", gw.Regex("[a-z]{8}"), num_return_sequences=4, seed=7)
    assert len({result.text for result in first}) == 4
    again = model.generate(["y", "x"], gw.Regex("[a-z]{8}"), num_return_sequences=4, seed=7)
    assert [r.text for r in again[4:]] == [r.text for r in first]


def test_retries_ask_again():
    settings = {"max_new_tokens": 20}
    models = [gw.Model(FakeModel.random(BYTES, seed)) for seed in range(6)]
    results = [model.generate("x", Even, retries=9, **settings) for model in models]
    assert all(result.error is None and result.value.number % 2 == 0 for result in results)
    without = [model.generate("x", Even, on_invalid="return", **settings) for model in models]
    assert any(result.error for result in without)


def test_too_few_tokens_are_refused_before_anything_is_generated(model):
    with pytest.raises(gw.LimitError) as error:
        model.generate("x", Car, max_new_tokens=10)
    assert error.value.given == 10
    needed = error.value.needed or 0
    assert model.generate("x", Car, max_new_tokens=needed).value
    with pytest.raises(gw.LimitError):
        model.generate("x", Car, max_new_tokens=needed - 1)


def test_streams_grow_and_end_with_the_result(model):
    parts = list(model.stream("x", Car, max_new_tokens=60, seed=3))
    texts = [part.text for part in parts]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(texts))
    assert "".join(part.delta for part in parts) == "".join(map(str, parts)) == texts[-1]
    assert all(part.result is None for part in parts[:-1])
    final = parts[-1].result
    whole = model.generate("x", Car, max_new_tokens=60, seed=3)
    assert (final.text, final.value) == (whole.text, whole.value) == (texts[-1], parts[-1].value)
    assert final.tokens == whole.tokens


def test_partial_values_show_what_is_sure():
    text = '{"colour": "blue", "doors": 4}'
    values = [part.value for part in telling({"x": text}).stream("x", Car, max_new_tokens=60)]
    assert values[0] is None or not getattr(values[0], "colour", None)
    assert any(getattr(value, "colour", None) == Colour.BLUE for value in values[:-1])
    assert values[-1] == Car(colour=Colour.BLUE, doors=4)


def test_async_calls_give_what_the_others_give(model):
    async def both():
        result = await model.agenerate("x", Car, max_new_tokens=60, seed=3)
        parts = [p async for p in model.astream("x", Car, max_new_tokens=60, seed=3)]
        return result, parts

    result, parts = asyncio.run(both())
    assert result.text == parts[-1].text
    assert parts[-1].result.value == result.value


def test_choices_have_the_probabilities_of_their_texts():
    table = {ord("y"): 2.0, ord("n"): 1.0, ord("e"): 0.5, ord("s"): 3.0, ord("o"): 0.1}
    row = [table.get(token, -1.0) for token in range(BYTES.width)]
    model = gw.Model(FakeModel(BYTES, lambda prefix: row))
    choices = model.choose("Well? ", ["yes", "no"])
    total = math.log(sum(math.exp(x) for x in row))
    yes = math.exp(sum(table[ord(c)] - total for c in "yes"))
    no = math.exp(sum(table[ord(c)] - total for c in "no"))
    assert choices == pytest.approx({"yes": yes / (yes + no), "no": no / (yes + no)}, rel=1e-5)
    # "no" begins "nose", so its end counts: exp(-1 - total).
    three = model.choose("Well? ", ["no", "nose"])
    ended = no * math.exp(-1.0 - total)
    nose = no * math.exp(table[ord("s")] + table[ord("e")] - 2 * total)
    assert three["no"] == pytest.approx(ended / (ended + nose), rel=1e-5)


REFUSED = [
    *((lambda m, c=c: m.choose("Which?", c), gw.SourceError, "choices must be a list of different")
      for c in ([1, 2], None, 5, [], ["a", "a"], ["a", ""], "ab", ["a", None])),
    *((lambda m, p=p: m.generate(p), gw.SourceError, "a prompt must be a text")
      for p in (None, 3, [], [3], ["a", 3], b"text")),
    (lambda m: m.stream(["a", "b"], int), gw.UnsupportedError, "one prompt"),
    (lambda m: m.stream("a", int, num_return_sequences=2, seed=0), gw.UnsupportedError,
     "one prompt"),
    (lambda m: m.stream("a", gw.Regex("a{9}"), max_new_tokens=3), gw.LimitError, "9"),
    (lambda m: m.choose(["a", "b"], ["x", "y"]), gw.UnsupportedError, "one prompt"),
    (lambda m: m.generate(["a", "b"], [int, int, int]), gw.SourceError, "3 sources for 2 prompts"),
    (lambda m: m.generate(["a", "b"], sampling=[gw.Sampling()]), gw.SourceError,
     "1 settings for 2 prompts"),
    (lambda m: m.generate([{"role": "user", "content": "hi"}]), gw.ModelError, "chat template"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "said"), REFUSED)
def test_what_is_wrong_is_refused_before_anything_runs(model, call, error, said):
    with pytest.raises(error, match=said):
        call(model)


def test_an_argument_wins_over_the_settings_beside_it(model):
    base = gw.Sampling(seed=1, max_new_tokens=9)
    result = model.generate("x", sampling=base, max_tokens=4)
    assert result == model.generate("x", seed=1, max_new_tokens=4)
    rows = model.generate(["x", "y"], sampling=[base, gw.Sampling(seed=2)], max_new_tokens=4)
    assert rows[0] == result
    assert rows[1] == model.generate("y", seed=2, max_new_tokens=4)
    with pytest.raises(gw.LimitError, match="min_new_tokens"):
        model.generate("x", sampling=base, min_new_tokens=20)


def test_the_type_can_be_described_in_the_prompt():
    seen = []

    def logits(prefix):
        seen.append(bytes(t for t in prefix if t < 256))
        return [0.0] * BYTES.width

    gw.Model(FakeModel(BYTES, logits)).generate(
        "The car is red.", Car, max_new_tokens=60, schema_in_prompt=True
    )
    assert b"colour" in seen[0]
    assert seen[0].endswith(b"The car is red.")


def test_a_tokenizer_that_loses_information_is_refused_by_name():
    vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], {2}, loss="it has no capitals")
    model = gw.Model(FakeModel.random(vocabulary))
    with pytest.raises(gw.UnsupportedError, match="it has no capitals"):
        model.generate("a", gw.Regex("a"))
    with pytest.raises(gw.UnsupportedError, match="it has no capitals"):
        model.choose("a", ["a", "b"])


def test_choices_without_any_probability_are_a_dead_end():
    row = [0.0 if token == 65 else float("-inf") for token in range(257)]
    model = gw.Model(FakeModel(BYTES, lambda prefix: row))
    assert model.choose("?", ["A", "B"]) == {"A": 1.0, "B": 0.0}
    with pytest.raises(gw.DeadEndError, match="every choice the probability 0"):
        model.choose("?", ["B", "CC"])


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": [{"text": "x"}]}])
def test_a_message_without_a_text_is_refused_with_a_description_too(content):
    chat = gw.Model(FakeModel.random(BYTES))
    with pytest.raises((gw.SourceError, gw.UnsupportedError), match="content"):
        chat.generate([{"role": "user", **content}], int, schema_in_prompt=True)


def test_a_stop_string_before_the_minimum_stays_whatever_other_stop_strings_there_are():
    for stop in (["a"], ["a", "xxxxxx"]):
        *_, last = telling({"x": "abcd"}).stream("x", stop=stop, min_new_tokens=2, max_new_tokens=9)
        assert last.text == last.result.text == "abcd"
