"""The laws of `Pages`, on the fake and on transformers' paged cache: the oracle is a plain forward
over each whole text."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import small_models
from fake_pages import FakePages
from guideway.models.protocol import NO_DRAFT, Draft, Due, Pages
from guideway.models.transformers_paged import TransformersPages

SHARED = [*range(5, 45)]  # a whole block, and a part of the next one


def fake() -> tuple[Pages, Sequence[Any]]:
    models = [small_models.model("fake"), small_models.model("ngram")]
    return FakePages(models, chunk=5), models


def of(*kinds: tuple[str, int]) -> Callable[[], tuple[Pages, Sequence[Any]]]:
    def made() -> tuple[Pages, Sequence[Any]]:
        models = [small_models.model(*each) for each in kinds]
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

    def __init__(self, pages: Pages, models: Sequence[Any], *, drafts: bool = False) -> None:
        self.pages, self.models, self.drafts = pages, models, drafts
        self.drafted = 0
        self.width = min(model.vocabulary.width for model in models)
        self.texts: dict[int, list[int]] = {}
        self.left: dict[int, int] = {}
        self.counts: dict[int, int] = {}

    def add(self, text: int, prompt: list[int], most: int) -> None:
        self.texts[text], self.left[text] = [each % self.width for each in prompt], most
        self.pages.add(text, self.texts[text])

    def step(self) -> None:
        self.pages.step(self.choose, *([self.draft] if self.drafts else []))

    def draft(self, begun: Sequence[int]) -> list[Draft]:
        """Some tokens of each text: right ones, and a wrong one behind them."""
        assert {*begun} <= self.counts.keys() & self.left.keys()
        return [self.guess(text) for text in begun]

    def guess(self, text: int) -> Draft:
        count = (text + self.counts[text]) % 4
        guessed = list[int]()
        for _ in range(count):
            guessed.append(self.following([*self.texts[text], *guessed]))
        return Draft((*guessed, 3)) if count else NO_DRAFT

    def following(self, text: list[int]) -> int:
        return int(self.models[0].prefill([text])[1][0, : self.width].argmax())

    def choose(self, due: Due) -> list[list[int] | None]:
        assert len({*due.texts}) == len(due.texts) > 0
        assert {*due.texts} <= self.left.keys()
        assert {*due.logits} == {*self.models}
        self.drafted += sum(len(draft.tokens) for draft in due.drafted)
        read = [
            [*self.texts[text], *draft.tokens[:count]]
            for text, draft in zip(due.texts, due.drafted, strict=True)
            for count in range(1 + len(draft.tokens))
        ]
        assert due.read >= len(read)
        for model, rows in due.logits.items():
            torch.testing.assert_close(rows, model.prefill(read)[1], atol=1e-4, rtol=1e-4)
        return [self.taken(*each) for each in zip(due.texts, due.drafted, strict=True)]

    def taken(self, text: int, draft: Draft) -> list[int] | None:
        tokens = list[int]()
        for guessed in (*draft.tokens, None):
            self.counts[text] = self.counts.get(text, 0) + 1
            self.left[text] -= 1
            if not self.left[text]:
                del self.left[text]
                return None
            tokens.append(self.following([*self.texts[text], *tokens]))
            if tokens[-1] != guessed:
                break
        self.texts[text] += tokens
        return tokens

    def run(self, steps: int = 200) -> None:
        for _ in range(steps):
            if not self.left:
                return
            self.step()
        raise AssertionError(f"texts that starve: {self.left}")


@pytest.mark.parametrize("drafts", [False, True])
@pytest.mark.parametrize("kind", EVERY)
def test_each_text_has_the_logits_of_a_forward_of_its_own(kind: str, drafts: bool):
    texts = Texts(*EVERY[kind](), drafts=drafts)
    draw = random.Random(0)
    asked = {}
    for text in range(7):
        prompt = [*SHARED[: draw.randint(1, 40)], *(draw.randrange(3, 30) for _ in range(text))]
        asked[text] = draw.randint(1, 6)
        texts.add(text, prompt, asked[text])
        if text % 2:
            texts.step()  # the next ones join texts that run
    texts.run()
    assert texts.counts == asked
    assert bool(texts.drafted) == (drafts and kind not in ("sliding", "both"))


@pytest.mark.parametrize("kind", EVERY)
def test_a_text_that_was_removed_does_not_come_again(kind: str):
    texts = Texts(*EVERY[kind](), drafts=kind in ("llama", "fake"))
    for text in range(3):
        texts.add(text, SHARED[: 20 + text], 4)
    for _ in range(6):
        texts.step()
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
        pages.step(lambda due: pytest.fail("a text that nobody added"))
        assert pages.capacity >= 64
