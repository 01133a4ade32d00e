"""Models of bytes that say what a test wants, and a type whose validator refuses some values."""

from pydantic import BaseModel, field_validator

import guideway as gw
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def check(cls, number: int) -> int:
        if number % 2:
            raise ValueError("odd")
        return number


def telling(answers: dict[str, str]) -> gw.Model:
    """A model that says a text to each prompt, and then the end; "!" in a text is Ctrl-C."""

    def logits(prefix: tuple[int, ...]) -> list[float]:
        written = bytes(token for token in prefix if token < 256).decode()
        asked = next(prompt for prompt in answers if written.startswith(prompt))
        text = answers[asked]
        said = written.removeprefix(asked)
        following = text[len(said) : len(said) + 1]
        if following == "!":
            raise KeyboardInterrupt
        row = [0.0] * BYTES.width
        row[ord(following) if following else 256] = 50.0
        return row

    return gw.Model(FakeModel(BYTES, logits))
