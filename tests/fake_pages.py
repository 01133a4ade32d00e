"""Pages without a cache: what `models.protocol.Pages` promises, in the simplest way."""

from collections.abc import Container
from collections.abc import Sequence as Texts
from typing import Any

from guideway.models.protocol import NO_DRAFT, Choose, Drafted, Due, LanguageModel, undrafted


class FakePages:
    """Models read each text anew, and at most `chunk` tokens of a prompt in a step."""

    capacity = 1 << 20

    def __init__(self, models: Texts[LanguageModel[Any]], *, chunk: int) -> None:
        self._models, self._chunk = models, chunk
        self._texts: dict[int, list[int]] = {}
        self._unread: dict[int, int] = {}
        self._chosen = set[int]()

    def add(self, text: int, prompt: Texts[int]) -> None:
        self._texts[text], self._unread[text] = [*prompt], len(prompt)

    def remove(self, text: int) -> None:
        del self._texts[text], self._unread[text]

    def step(self, choose: Choose, draft: Drafted = undrafted, held: Container[int] = ()) -> None:
        begun = [text for text in self._unread if text in self._chosen and text not in held]
        drafted = dict(zip(begun, draft(begun), strict=True))
        for text, unread in self._unread.items():
            self._unread[text] = max(0, unread - self._chunk)
        due = tuple(text for text, left in self._unread.items() if not left and text not in held)
        if not due:
            return
        guesses = tuple(drafted.get(text, NO_DRAFT) for text in due)
        read = [
            [*self._texts[text], *guess.tokens[:count]]
            for text, guess in zip(due, guesses, strict=True)
            for count in range(1 + len(guess.tokens))
        ]
        logits = {model: model.prefill(read)[1] for model in self._models}
        given = Due(due, guesses, logits, (0,) * len(due), len(read))
        for text, tokens in zip(due, choose(given), strict=True):
            self._chosen.add(text)
            if tokens is None:
                self.remove(text)
            else:
                self._texts[text].extend(tokens)
