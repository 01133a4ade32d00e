"""The prefix cache: what was read before is not read again, and nothing else changes."""

import copy
import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.generation.ensemble.prefix_cache import LEAST, PrefixCache
from guideway.models.adapter import Adapter
from guideway.models.fake import FakeModel
from guideway.models.ngram import NgramModel
from guideway.models.transformers import TransformersModel
from small_models import LETTERS, model, noise

TALK = [(n * 7 + n * n) % 30 for n in range(40)]


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    gw.clear_cache()
    yield
    gw.clear_cache()


class Counting:
    """A model that notes how many tokens each call reads."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.read = inner, list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def prefill(self, prompts: Sequence[Sequence[int]]) -> Any:
        self.read.append(sum(map(len, prompts)))
        return self._inner.prefill(prompts)

    def append(self, cache: Any, tokens: Sequence[Sequence[int]], exits: Sequence[int]) -> Any:
        self.read.append(sum(map(len, tokens)))
        return self._inner.append(cache, tokens, exits)


def texts(own: gw.Model, prompts: Any, **settings: Any) -> list[Any]:
    arguments = {"max_new_tokens": 12, "temperature": 1.0, "seed": 1, "speculate": "off"}
    found = own.generate(prompts, **{**arguments, **settings})
    return [each.tokens for each in found]


def as_text(tokens: Sequence[int]) -> str:
    return "".join(chr(token) for token in tokens)


def test_the_second_turn_of_a_talk_reads_its_new_words_alone():
    counting = Counting(FakeModel.random(LETTERS))
    own = gw.Model(counting)
    first = own.generate(as_text(TALK), max_new_tokens=10, seed=1, temperature=1.0)
    more = as_text([*TALK, *first.tokens, 3, 4, 5])
    before = gw.cache_info().prefixes
    second = own.generate(more, max_new_tokens=4, seed=2, temperature=1.0)
    assert counting.read == [40, 4]  # the last token that was drawn has not been read
    after = gw.cache_info().prefixes
    assert (after.hits - before.hits, after.tokens - before.tokens) == (1, 49)
    assert (first.stats.cached_tokens, second.stats.cached_tokens) == (0, 49)
    known = own.generate([more, as_text(TALK[:1])], max_new_tokens=1)
    assert [each.stats.cached_tokens for each in known] == [52, 0]
    gw.clear_cache()
    again = own.generate(more, max_new_tokens=4, seed=2, temperature=1.0)
    assert counting.read[-1] == 53
    assert again.tokens == second.tokens


WORDS = "a b c d e f g h i j k l m n o p q r s t u v"


def made(kind: str) -> gw.Model:
    match kind:
        case "fake":
            return gw.Model(FakeModel.random(LETTERS))
        case "expression":
            other = gw.Model(FakeModel.random(LETTERS, 1))
            return gw.Model(FakeModel.random(LETTERS)) + 0.5 * other.prompted(as_text(TALK[:20]))
        case "adapter":
            plain = FakeModel(LETTERS, noise(1), adapted={"a": FakeModel.random(LETTERS, 9)})
            texts(gw.Model(plain), [as_text(TALK)])  # without it
            return gw.Model(plain).adapted(Adapter("a", {}))
        case "exit":
            return gw.Model(model("llama")) - 0.3 * gw.Model(model("llama")).exit_at(1)
        case _:
            return gw.Model(model(kind))


@pytest.mark.parametrize("kind", ["fake", "llama", "gpt2", "expression", "exit", "adapter"])
def test_what_was_read_before_changes_nothing(kind: str):
    own = made(kind)
    talk = WORDS if kind in ("llama", "gpt2", "exit") else as_text(TALK)
    prompts = [talk, talk[:25] + talk[:3], talk[:5], talk + talk[:3]]
    first = texts(own, [talk])
    expected = [texts(own, [prompt])[0] for prompt in prompts if not gw.clear_cache()]
    gw.clear_cache()
    hits = gw.cache_info().prefixes.hits
    assert texts(own, prompts) == expected  # read in one batch
    assert expected[:1] == first
    assert texts(own, prompts[::-1]) == expected[::-1]  # all of them known
    assert gw.cache_info().prefixes.hits > hits
    gw.clear_cache()
    assert [texts(own, [prompt])[0] for prompt in prompts] == expected  # each after the others
    settings = {"num_beams": 2, "do_sample": None, "temperature": None, "seed": None}
    found = texts(own, [talk], **settings)  # the prompt is known
    gw.clear_cache()
    assert found == texts(own, [talk], **settings)


@pytest.mark.parametrize("kind", ["fake", "llama"])
def test_what_prompts_of_a_batch_share_is_read_once(kind: str):
    counting = Counting(FakeModel.random(LETTERS) if kind == "fake" else model(kind))
    own = gw.Model(counting)
    talk = as_text(TALK) if kind == "fake" else " ".join("abcdefghijklmnopqrstuvwxyz")
    prompts = [talk + talk[2 * n : 2 * n + 3] for n in range(12)]
    expected = [texts(own, [prompt])[0] for prompt in prompts if not gw.clear_cache()]
    gw.clear_cache()
    counting.read.clear()
    found = own.generate(prompts, max_new_tokens=12, temperature=1.0, seed=1, speculate="off")
    assert [each.tokens for each in found] == expected
    assert {each.stats.cached_tokens for each in found} == {0}
    shared, rest = counting.read
    assert shared > 20
    assert rest == sum(each.stats.prompt_tokens - shared for each in found)
    gw.clear_cache()
    counting.read.clear()
    own.generate(prompts[:2], max_new_tokens=1)  # too few
    assert len(counting.read) == 1


def cache_of(length: int, fake: FakeModel) -> tuple[list[int], Any]:
    tokens = [length % 30, *range(30)] * 8
    return tokens[:length], fake.prefill([tokens[:length]])[0]


def test_the_least_recently_used_texts_go_first_and_longer_ones_replace_their_beginnings():
    fake = FakeModel.random(LETTERS)
    prefixes = PrefixCache(most_bytes=8 * 100)
    kept = [cache_of(length, fake) for length in (40, 45, 50)]
    for tokens, cache in kept[:2]:
        prefixes.keep(fake, None, tokens, cache)
    assert prefixes.find(fake, None, [*kept[0][0], 1]) is not None
    prefixes.keep(fake, None, *kept[2])
    assert prefixes.info().bytes <= 800
    found = [prefixes.find(fake, None, [*tokens, 1]) is not None for tokens, _ in kept]
    assert found == [True, False, True]
    prefixes.keep(fake, None, *cache_of(101, fake))  # more than all memory
    assert prefixes.info().texts == 2
    prefixes, tokens = PrefixCache(most_bytes=1 << 20), list(range(30)) * 2
    for length in (20, 40, 60, 50):
        prefixes.keep(fake, None, tokens[:length], fake.prefill([tokens[:length]])[0])
    assert prefixes.info().texts == 2  # the last is no longer one than the third
    assert prefixes.find(fake, None, tokens[: LEAST - 1]) is None


def test_a_model_that_is_gone_keeps_nothing():
    prefixes = PrefixCache(most_bytes=1 << 20)
    gone, other = (NgramModel.train([TALK], LETTERS) for _ in range(2))
    prefixes.keep(gone, None, TALK, gone.prefill([TALK])[0])
    del gone
    gc.collect()
    assert prefixes.find(other, None, TALK) is None
    assert prefixes.info().texts == 0


def test_threads_share_it():
    own = gw.Model(model("llama"))
    prompts = ["abcdefghijabcdefghij" * 2 + "xyz"[: n % 4] for n in range(6)]
    expected = [texts(own, [prompt])[0] for prompt in prompts]
    gw.clear_cache()
    with ThreadPoolExecutor(6) as pool:
        assert [*pool.map(lambda prompt: texts(own, [prompt])[0], prompts)] == expected


def test_a_session_keeps_what_it_has_read():
    counting = Counting(FakeModel.random(LETTERS))
    own = gw.Model(counting)
    with own.session() as session:
        session.generate(as_text(TALK), max_new_tokens=1)
        gw.Model(FakeModel.random(LETTERS)).generate(as_text(TALK), max_new_tokens=1)
        session.generate(as_text([*TALK, 7, 8]), max_new_tokens=1)
        assert counting.read == [40, 2]
        before = gw.cache_info().prefixes
        assert before.texts > 1
        with gw.Engine(session) as engine:  # it reads on where the session was
            engine.submit(as_text([*TALK, 7, 8, 9]), max_new_tokens=1).result()
        session.generate(as_text([*TALK, 7, 8, 9, 1]), max_new_tokens=1)
        assert counting.read == [40, 2, 1, 1]
        assert gw.cache_info().prefixes.texts == before.texts  # the longest text only
        own.generate(as_text(TALK), max_new_tokens=1)
        assert counting.read == [40, 2, 1, 1, 40]
    session.generate(as_text([*TALK, 7, 8]), max_new_tokens=1)  # it still works
    assert counting.read == [40, 2, 1, 1, 40, 42]


def test_what_was_read_with_other_weights_is_read_again():
    shared = model("llama")
    assert isinstance(shared, TransformersModel)
    trained = TransformersModel(copy.deepcopy(shared.module), shared.tokenizer)
    own = gw.Model(trained)
    first = texts(own, [WORDS])
    with torch.no_grad():
        for parameter in trained.module.parameters():
            parameter.mul_(1.5)
    found = texts(own, [WORDS])
    gw.clear_cache()
    assert found == texts(own, [WORDS]) != first
