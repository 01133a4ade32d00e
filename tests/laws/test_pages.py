"""The laws of `Pages`, on the fake and on transformers' paged cache: the oracle is a plain forward
over each whole text."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import small_models
from guideway.engine.backends.transformers_paged import TransformersPages
from guideway.engine.paged import Due, FakePages, Pages

SHARED = [*range(5, 45)]  # a whole block, and a part of the next one


def fake() -> tuple[Pages, Sequence[Any]]:
    models = [small_models.model("fake"), small_models.model("ngram")]
    return FakePages(models, chunk=5), models


def of(*kinds: tuple[str, int]) -> Callable[[], tuple[Pages, Sequence[Any]]]:
    def made() -> tuple[Pages, Sequence[Any]]:
        models = [small_models.model(kind, layers) for kind, layers in kinds]
        return TransformersPages(models, rows=4, chunk=16), models

    return made


EVERY = {
    "fake": fake,
    "llama": of(("llama", 2)),
    "sliding": of(("mistral", 2)),
    "both": of(("gemma3", 2)),
    "gpt2": of(("gpt2", 2)),
    "three": of(("llama", 2), ("qwen2", 2), ("llama", 3)),
}


class Texts:
    """Texts that check each of their logits, and end after so many tokens."""

    def __init__(self, pages: Pages, models: Sequence[Any]) -> None:
        self.pages, self.models = pages, models
        self.width = min(model.vocabulary.width for model in models)
        self.texts: dict[int, list[int]] = {}
        self.left: dict[int, int] = {}
        self.counts: dict[int, int] = {}

    def add(self, text: int, prompt: list[int], most: int) -> None:
        self.texts[text], self.left[text] = [each % self.width for each in prompt], most
        self.pages.add(text, self.texts[text])

    def choose(self, due: Sequence[int], logits: Due) -> list[int | None]:
        assert len({*due}) == len(due) > 0
        assert {*due} <= self.left.keys()
        assert {*logits} == {*self.models}
        for model, rows in logits.items():
            plain = model.prefill([self.texts[text] for text in due])[1]
            torch.testing.assert_close(rows, plain, atol=1e-4, rtol=1e-4)
        chosen = list[int | None]()
        for text in due:
            self.counts[text] = self.counts.get(text, 0) + 1
            self.left[text] -= 1
            if not self.left[text]:
                del self.left[text]
                chosen.append(None)
                continue
            token = int(logits[self.models[0]][list(due).index(text), : self.width].argmax())
            self.texts[text].append(token)
            chosen.append(token)
        return chosen

    def run(self, steps: int = 200) -> None:
        for _ in range(steps):
            if not self.left:
                return
            self.pages.step(self.choose)
        raise AssertionError(f"texts that starve: {self.left}")


@pytest.mark.parametrize("kind", EVERY)
def test_each_text_has_the_logits_of_a_forward_of_its_own(kind: str):
    texts = Texts(*EVERY[kind]())
    draw = random.Random(0)
    asked = {}
    for text in range(7):
        prompt = [*SHARED[: draw.randint(1, 40)], *(draw.randrange(3, 30) for _ in range(text))]
        asked[text] = draw.randint(1, 6)
        texts.add(text, prompt, asked[text])
        if text % 2:
            texts.pages.step(texts.choose)  # the next ones join texts that run
    texts.run()
    assert texts.counts == asked


@pytest.mark.parametrize("kind", EVERY)
def test_a_text_that_was_removed_does_not_come_again(kind: str):
    texts = Texts(*EVERY[kind]())
    for text in range(3):
        texts.add(text, SHARED[: 20 + text], 4)
    for _ in range(6):
        texts.pages.step(texts.choose)
    for text in (1, 2):
        if text in texts.left:
            texts.pages.remove(text)
            del texts.left[text]
    texts.add(3, SHARED, 3)
    texts.run()
    assert texts.counts[3] == 3


def test_nothing_is_chosen_without_a_text():
    for kind in ("fake", "llama"):
        pages, _ = EVERY[kind]()
        pages.step(lambda texts, due: pytest.fail("a text that nobody added"))
        assert pages.capacity >= 64
