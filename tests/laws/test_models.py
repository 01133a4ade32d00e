"""The laws of `LanguageModel`, `CroppingModel` and static memory: each row is what it is alone.

They hold of the fake model, of n-grams, of llama.cpp, and of transformers of different kinds with
random weights (rotary and absolute positions, sliding windows).
"""

import random

import pytest
import torch

from guideway.models.transformers import TransformersModel
from small_models import KINDS, LLAMA_CPP, model

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]
CROPPING = ["fake", "ngram", *(kind for kind in KINDS if kind not in ("mistral", "gemma3"))]
LENGTH = 32

every = pytest.mark.parametrize("kind", ["fake", "ngram", *KINDS, LLAMA_CPP])
cropping = pytest.mark.parametrize("kind", [*CROPPING, LLAMA_CPP])
static = pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2"])


def check(kind: str, logits: torch.Tensor, rows: list[list[int]]) -> None:
    """The logits are those after each row, computed alone."""
    alone = torch.cat([model(kind).prefill([row])[1] for row in rows])
    torch.testing.assert_close(logits, alone, atol=1e-4, rtol=1e-4)


def with_last(rows: list[list[int]], *tokens: int) -> list[list[int]]:
    return [[*row, *tokens] for row in rows]


@every
def test_logits_are_float32_as_wide_as_the_vocabulary_and_what_they_are_alone(kind: str):
    _, logits = model(kind).prefill(PROMPTS)
    assert logits.shape == (3, model(kind).vocabulary.width)
    assert logits.dtype == torch.float32
    assert logits.device == model(kind).device
    check(kind, logits, PROMPTS)


@every
def test_extending_gives_what_reading_it_all_gives(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    new = [[3, 4], [17, 18], [3, 3]]
    rows = [prompt + more for prompt, more in zip(PROMPTS, new, strict=True)]
    cache, logits = model(kind).extend(cache, torch.tensor(new))
    check(kind, logits[:, 0], [row[:-1] for row in rows])
    check(kind, logits[:, 1], rows)
    _, logits = model(kind).extend(cache, torch.tensor([[20], [21], [22]]))
    check(kind, logits[:, 0], [[*row, 20 + n] for n, row in enumerate(rows)])


@every
def test_selecting_copies_leaves_out_and_reorders(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    chosen = model(kind).select(cache, [2, 0, 2, 2])
    _, logits = model(kind).extend(chosen, torch.full((4, 1), 17))
    _, before = model(kind).extend(cache, torch.full((3, 1), 17))  # the old cache is as it was
    torch.testing.assert_close(logits, before[[2, 0, 2, 2]], atol=1e-4, rtol=1e-4)
    check(kind, before[:, 0], with_last(PROMPTS, 17))


@pytest.mark.parametrize("kind", KINDS)
def test_which_caches_can_forget(kind: str):
    assert model(kind).crops == (kind in CROPPING)


@cropping
@pytest.mark.parametrize("seed", range(3))
def test_a_cropped_row_is_as_if_it_had_never_read_its_last_tokens(kind: str, seed: int):
    chance = random.Random(seed)
    rows = [list(prompt) for prompt in PROMPTS]
    cache, _ = model(kind).prefill(rows)
    for _ in range(6):
        count = chance.randrange(1, 6)
        new = [[chance.randrange(3, 30) for _ in range(count)] for _ in rows]
        cache, _ = model(kind).extend(cache, torch.tensor(new))
        removed = [chance.randrange(count + 1) for _ in rows]
        cache = model(kind).crop(cache, removed)
        for row, more, less in zip(rows, new, removed, strict=True):
            row.extend(more[: count - less])
        if chance.random() < 0.3:
            cache = model(kind).select(cache, [2, 0, 1])
            rows = [rows[2], rows[0], rows[1]]
    _, logits = model(kind).extend(cache, torch.full((3, 1), 17))
    check(kind, logits[:, 0], with_last(rows, 17))


@cropping
def test_concatenated_rows_are_what_they_were(kind: str):
    caches = [model(kind).prefill([prompt])[0] for prompt in PROMPTS]
    both, _ = model(kind).prefill(PROMPTS[:2])
    _, logits = model(kind).extend(model(kind).concat([*caches, both]), torch.full((5, 1), 17))
    check(kind, logits[:, 0], with_last([*PROMPTS, *PROMPTS[:2]], 17))
    _, before = model(kind).extend(caches[1], torch.tensor([[17]]))  # the parts are as they were
    check(kind, before[:, 0], with_last(PROMPTS[1:2], 17))


@cropping
def test_texts_of_different_lengths_are_appended(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    rest = [[3, 4, 5, 6], [7], [8, 9]]
    rows = [prompt + more for prompt, more in zip(PROMPTS, rest, strict=True)]
    cache, heads = model(kind).append(cache, rest, [])
    check(kind, heads[0], rows)
    _, logits = model(kind).extend(cache, torch.full((3, 1), 17))
    check(kind, logits[:, 0], with_last(rows, 17))


@cropping
def test_a_cache_takes_as_much_memory_as_its_rows_are_long(kind: str):
    def taken(*rows: list[int]) -> int:
        return model(kind).nbytes(model(kind).prefill([*rows])[0])

    assert 0 < taken([5, 6]) < taken([5, 6, 7, 8])
    cache, _ = model(kind).prefill(PROMPTS)
    assert model(kind).nbytes(model(kind).select(cache, [1])) == taken(PROMPTS[1])


def test_columns_that_no_row_needs_are_given_up():
    llama = model("llama")
    assert isinstance(llama, TransformersModel)
    cache, _ = llama.prefill([[5], [6]])
    for turn in range(10):  # each row refuses three of four tokens, never the same ones
        cache, _ = llama.extend(cache, torch.full((2, 4), 7))
        cache = llama.crop(cache, [3, 0] if turn % 2 else [0, 3])
    assert cache.past.get_seq_length() <= 1.5 * int(cache.lengths.max())


@static
@torch.inference_mode()
def test_rows_in_memory_are_read_as_rows_of_a_cache(kind: str):
    own = model(kind)
    assert isinstance(own, TransformersModel)
    cache, _ = own.prefill(PROMPTS)
    order = [2, 0, 1, 1]
    memory = own.allocate(cache, len(order), LENGTH)
    addresses = [layer.keys.data_ptr() for layer in memory.past.layers]
    for turn in range(2):  # what was there before is forgotten
        own.load(memory, cache, order)
        texts = [list(PROMPTS[n]) for n in order]
        for step in range(5):
            new = [3 + (7 * turn + 5 * step + n) % 20 for n in range(len(order))]
            for text, token in zip(texts, new, strict=True):
                text.append(token)
            check(kind, own.decode(memory, torch.tensor(new)), texts)
    assert addresses == [layer.keys.data_ptr() for layer in memory.past.layers]
    own.rewind(memory, 3)
    texts = [text[:-3] for text in texts]
    thawed = own.thaw(memory, [1, 3], 1)  # rows of their own, without their last token
    logits = own.decode(memory, torch.tensor([4, 5, 6, 7]))
    check(kind, logits, [[*text, 4 + n] for n, text in enumerate(texts)])
    _, logits = own.extend(thawed, torch.full((2, 1), 9))
    check(kind, logits[:, 0], [[*texts[n][:-1], 9] for n in (1, 3)])
    _, logits = own.extend(cache, torch.full((3, 1), 17))  # and the cache is as it was
    check(kind, logits[:, 0], with_last(PROMPTS, 17))


@static
@torch.inference_mode()
def test_rows_that_read_on_beyond_the_context_do_no_harm(kind: str):
    own = model(kind)
    cache, _ = own.prefill([[3 + n % 20 for n in range(own.context - 1)], [5]])
    memory = own.allocate(cache, 2, 128)
    own.load(memory, cache, [0, 1])
    texts = [5]
    for step in range(6):  # the first row is full after one
        texts.append(4 + step)
        logits = own.decode(memory, torch.tensor([4 + step] * 2))
        check(kind, logits[1:], [texts])
