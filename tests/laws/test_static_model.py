"""The laws of `StaticModel`: transformers whose caches keep all columns."""

import pytest
import torch

from guideway.models.protocol import StaticModel
from small_models import model

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]
LENGTH = 32
every = pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2"])


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def alone(kind: str, rows: list[list[int]]) -> torch.Tensor:
    return torch.cat([model(kind).prefill([row])[1] for row in rows])


@every
@torch.inference_mode()
def test_rows_in_memory_are_read_as_rows_of_a_cache(kind: str):
    own = model(kind)
    assert isinstance(own, StaticModel)
    cache, _ = own.prefill(PROMPTS)
    order = [2, 0, 1, 1]
    memory = own.allocate(cache, len(order), LENGTH)
    addresses = [layer.keys.data_ptr() for layer in memory.past.layers]
    rows = [list(PROMPTS[n]) for n in order]
    for turn in range(2):  # what was there before is forgotten
        own.load(memory, cache, order)
        texts = [list(row) for row in rows]
        for step in range(5):
            new = [3 + (7 * turn + 5 * step + n) % 20 for n in range(len(order))]
            for text, token in zip(texts, new, strict=True):
                text.append(token)
            same(own.decode(memory, torch.tensor(new)), alone(kind, texts))
    assert addresses == [layer.keys.data_ptr() for layer in memory.past.layers]
    own.rewind(memory, 3)
    texts = [text[:-3] for text in texts]
    thawed = own.thaw(memory, [1, 3], 1)  # rows of their own, without their last token
    new = torch.tensor([4, 5, 6, 7])
    expected = alone(kind, [[*text, int(token)] for text, token in zip(texts, new, strict=True)])
    same(own.decode(memory, new), expected)
    _, logits = own.extend(thawed, torch.full((2, 1), 9))
    same(logits[:, 0], alone(kind, [[*texts[n][:-1], 9] for n in (1, 3)]))
    _, logits = own.extend(cache, torch.full((3, 1), 17))  # and the cache is as it was
    same(logits[:, 0], alone(kind, [[*prompt, 17] for prompt in PROMPTS]))


@every
@torch.inference_mode()
def test_rows_that_read_on_beyond_the_context_do_no_harm(kind: str):
    own = model(kind)
    row = [3 + n % 20 for n in range(own.context - 1)]
    cache, _ = own.prefill([row, [5]])
    memory = own.allocate(cache, 2, 128)
    own.load(memory, cache, [0, 1])
    texts = [5]
    for step in range(6):  # the first row is full after one
        texts.append(4 + step)
        logits = own.decode(memory, torch.tensor([4 + step] * 2))
        same(logits[1:], alone(kind, [texts]))
