"""transformers' own `generate` on the real model, held to constraints and guided, in every mode.

Where our engine has the mode too, the tokens are the same ones, in float32.
"""

from typing import TYPE_CHECKING, Any, Final

import pytest
import torch
from pydantic import BaseModel, Field

import guideway as gw
from guideway.integrations.transformers import LogitsProcessor, prefix_allowed_tokens_fn

if TYPE_CHECKING:
    from torch import Tensor

    from guideway.api.model import Model

pytestmark = pytest.mark.model


class Person(BaseModel):
    """What the prompts say of somebody."""

    age: int = Field(le=99)


PROMPTS: Final = ["Maria Lopez is 34 years old.\n", "Tom, aged 7: "]
SHORT: Final = gw.Regex(r"[A-Z][a-z]{2,5} [0-9]{1,2}\.")
MODES: Final[dict[str, dict[str, Any]]] = {
    "several sequences": {"do_sample": True, "top_p": 0.9, "num_return_sequences": 2},
    "beams": {"num_beams": 2, "num_return_sequences": 2},
    "sampled beams": {"num_beams": 2, "do_sample": True},
    "a sampled draft": {"assistant_model": True, "do_sample": True},
    "sampled prompt lookup": {"prompt_lookup_num_tokens": 3, "do_sample": True},
}


def generate(model: "Model", how: Any, prompts: list[str], **settings: Any) -> "list[list[int]]":
    """The tokens of each row's text, without its end."""
    tokenizer, module = model.tokenizer, model.language_model.module
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
    if "assistant_model" in settings:
        settings["assistant_model"] = module
    key = "logits_processor" if isinstance(how, LogitsProcessor) else "prefix_allowed_tokens_fn"
    settings[key] = [how] if key == "logits_processor" else how
    torch.manual_seed(0)
    rows: Tensor = module.generate(**inputs, **{"max_new_tokens": 32, **settings})
    texts = rows[:, inputs["input_ids"].shape[1] :].tolist()
    ends = model.vocabulary.eos_ids
    return [[token for token in text if token not in ends] for text in texts]


@pytest.mark.parametrize("mode", MODES)
def test_every_text_is_valid_in_every_mode(built_in: "Model", mode: str) -> None:
    held = LogitsProcessor(SHORT, built_in.vocabulary)
    said = generate(built_in, held, PROMPTS[1:], **MODES[mode])
    constraint = gw.compile(SHORT, built_in.vocabulary)
    assert all(constraint.matches(built_in.tokenizer.decode(text)) for text in said), said


def test_greedy_texts_have_the_tokens_of_our_engine_with_drafts_and_in_a_batch(
    built_in: "Model",
) -> None:
    own = built_in.generate(PROMPTS, [Person, SHORT], max_new_tokens=32)
    tokens = [list(result.tokens) for result in own]
    held = LogitsProcessor([Person, SHORT], built_in.vocabulary)
    assert generate(built_in, held, PROMPTS) == tokens
    alone = LogitsProcessor(SHORT, built_in.vocabulary)
    assert generate(built_in, alone, PROMPTS[1:], prompt_lookup_num_tokens=3) == tokens[1:]
    listed = prefix_allowed_tokens_fn(SHORT, built_in.vocabulary)
    assert generate(built_in, listed, PROMPTS[1:], assistant_model=True) == tokens[1:]


def test_beams_have_the_tokens_of_our_engine(built_in: "Model") -> None:
    # Where only an end can follow, our engine does not ask the model how probable that is.
    endless = gw.Regex("[A-Z][a-z]+( [a-z]+)*")
    own = built_in.generate(PROMPTS, endless, max_new_tokens=6, num_beams=2)
    held = LogitsProcessor(endless, built_in.vocabulary)
    said = generate(built_in, held, PROMPTS, num_beams=2, max_new_tokens=6)
    assert said == [list(result.tokens) for result in own]


def test_guided_texts_have_the_tokens_of_our_engine(built_in: "Model") -> None:
    guided = gw.cfg(built_in, built_in.unprompted(), 1.5)
    own = guided.generate(PROMPTS, SHORT, max_new_tokens=32)
    said = generate(built_in, LogitsProcessor(SHORT, guidance=guided), PROMPTS)
    assert said == [list(result.tokens) for result in own]


def test_strings_that_would_cut_a_text_are_refused(built_in: "Model") -> None:
    held = LogitsProcessor(Person, built_in.vocabulary)
    with pytest.raises(gw.UnsupportedError, match=r"stop_strings does not work with a constraint"):
        generate(
            built_in, held, PROMPTS[:1], stop_strings=["a"], tokenizer=built_in.tokenizer
        )  # fmt: skip
