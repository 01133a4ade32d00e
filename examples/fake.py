"""Test your own code with a fake model: a function instead of weights.

Run: python examples/fake.py

You will see three values of one type. The logits of the fake are noise, so the texts make no sense,
and each is a valid temperature with a unit all the same.
"""

from typing import Literal

from pydantic import BaseModel, Field

import guideway as gw
from guideway.models.fake import FakeModel


class Temperature(BaseModel):
    """How warm it is."""

    degrees: float = Field(ge=-50, le=50)
    unit: Literal["C", "F"]


def main() -> None:
    vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})
    model = gw.Model(FakeModel.random(vocabulary))
    for seed in range(3):
        result = model.generate("How warm is it? ", Temperature, max_new_tokens=60, seed=seed)
        print(repr(result.value), "from", result.text)


if __name__ == "__main__":
    main()
