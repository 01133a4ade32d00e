"""Hold the texts of transformers' own `generate` to a type.

Run: python examples/in_transformers.py

You will see a Person from greedy decoding, one from beam search, and the refusal of a setting that
would cut the text.
"""

from typing import Any

import torch
from pydantic import BaseModel, Field

import guideway as gw
from guideway.integrations.transformers import LogitsProcessor


class Person(BaseModel):
    """Somebody in a text."""

    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=130)


def main() -> None:
    loaded = gw.load("smollm2-135m")
    backend: Any = loaded.language_model
    model, tokenizer = backend.module, loaded.tokenizer  # any of transformers will do
    width = model.config.vocab_size
    vocabulary = gw.Vocabulary.from_transformers(tokenizer, width, model.generation_config)
    settings = {"logits_processor": [LogitsProcessor(Person, vocabulary)], "max_new_tokens": 60}
    prompt = 'Maria Lopez, 34, works as a doctor. As JSON with "name" and "age":\n'
    inputs = tokenizer(prompt, return_tensors="pt")
    for more in ({"do_sample": False}, {"num_beams": 3}, {"max_time": 1.0}):
        try:
            with torch.inference_mode():
                rows = model.generate(**inputs, **settings, **more)
        except gw.UnsupportedError as error:
            print(more, "is refused:", error)
            continue
        text = tokenizer.decode(rows[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        print(more, "gives", repr(Person.model_validate_json(text)))


if __name__ == "__main__":
    main()
