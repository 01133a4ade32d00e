"""transformers' paged cache: what is shared, what is refused, and what happens when the blocks run
out. `tests/laws/test_pages.py` compares the logits, `tests/test_foreign_names.py` has the names."""

import copy
import inspect
import threading
from typing import Any

import pytest
import torch

import small_models
from guideway.errors import UnsupportedError
from guideway.models.protocol import Due
from guideway.models.transformers_paged import PAGE, TransformersPages


class Reading:
    """Counts the tokens that a model reads, and runs texts of so many tokens."""

    def __init__(self, pages: TransformersPages, model: Any) -> None:
        self.pages, self.read, self.left = pages, 0, dict[int, int]()
        model.module.get_input_embeddings().register_forward_hook(self.count)
        self.model = model

    def count(self, module: Any, given: tuple[torch.Tensor, ...], output: Any) -> None:
        self.read += given[0].numel()

    def choose(self, due: Due) -> list[list[int] | None]:
        for text in due.texts:
            self.left[text] -= 1
        self.left = {text: left for text, left in self.left.items() if left}
        rows = due.logits[self.model].argmax(1).tolist()
        pairs = zip(due.texts, rows, strict=True)
        return [[row] if text in self.left else None for text, row in pairs]

    def run(self, prompts: dict[int, list[int]], most: int) -> int:
        """The number of tokens read for these prompts and `most` steps of each."""
        self.read = 0
        for text, prompt in prompts.items():
            self.left[text] = most
            self.pages.add(text, prompt)
        for _ in range(400):
            if not self.left:
                return self.read
            self.pages.step(self.choose)
        raise AssertionError(f"texts that starve: {self.left}")


def test_prefixes_are_read_once_by_each_model():
    models = [small_models.tiny(), small_models.tiny("qwen2", 3)]
    pages = TransformersPages(models, rows=4)
    readings = Reading(pages, models[0]), Reading(pages, models[1])
    shared = [*range(3 * PAGE)]
    readings[0].run({0: [*shared, 1, 2]}, 1)
    readings[0].run({1: [*shared, 3, 4, 5], 2: [*shared, 6]}, 2)
    assert [each.read for each in readings] == [4 + 2, 3 * PAGE + 2 + 4 + 2]


def test_texts_take_turns_when_the_blocks_run_out():
    """Four texts of 200 tokens in blocks for two of them: some are read again, none starves."""
    model = small_models.tiny(seed=1)
    pages = TransformersPages([model], rows=4, blocks=14)
    assert pages.capacity == 14 * PAGE
    prompts = {text: [(text * 31 + n) % 90 for n in range(40)] for text in range(4)}
    reading = Reading(pages, model)
    assert reading.run(prompts, 160) > 4 * (40 + 159)
    later = {text + 10: prompt for text, prompt in prompts.items()}
    assert reading.run(later, 4) <= 4 * (40 + 3)


def other(kind: str) -> Any:
    """A model that does not share pages with a tiny llama."""
    if kind == "sliding":
        return small_models.tiny("mistral")
    made = small_models.tiny(seed=2)
    changed = small_models.TransformersModel(copy.deepcopy(made.module), made.tokenizer)
    if kind == "half":
        changed.module.to(torch.bfloat16)
    else:
        changed.module.set_attn_implementation("eager")
    return changed


@pytest.mark.parametrize(("kind", "message"), [
    ("half", "device or dtype"), ("sliding", "sliding"), ("eager", "attention is eager, not sdpa"),
])  # fmt: skip
def test_models_that_cannot_share_pages_are_refused(kind: str, message: str):
    with pytest.raises(UnsupportedError, match=message):
        TransformersPages([small_models.tiny(), other(kind)], rows=2)


def test_a_model_whose_logits_differ_is_refused():
    """One that reads its attention mask in another way, as some do that add to it."""
    model = small_models.tiny(seed=3)
    forward = model.module.forward

    def shifted(*arguments: Any, position_ids: Any, **more: Any) -> Any:
        return forward(*arguments, position_ids=position_ids * ("cache" not in more), **more)

    shifted.__signature__ = inspect.signature(forward)
    model.module.forward = shifted
    with pytest.raises(UnsupportedError, match="its logits differ"):
        TransformersPages([model], rows=2)


def test_a_forward_in_another_thread_is_not_touched():
    """transformers keeps some arguments of a forward in the configuration while it runs."""
    model, prompt = small_models.tiny(seed=4), [*b"Another thread: "]
    pages, wanted, found = TransformersPages([model], rows=2), model.prefill([prompt])[1], []

    def beside(module: Any, given: Any, output: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            thread = threading.Thread(target=lambda: found.append(model.prefill([prompt])[1]))
            thread.start()
            thread.join()

    pages.add(0, [*range(50)])
    hook = model.module.get_input_embeddings().register_forward_hook(beside)
    pages.step(lambda due: [None])
    hook.remove()
    found.append(model.prefill([prompt])[1])
    assert len(found) == 2
    assert all(torch.equal(logits, wanted) for logits in found)
