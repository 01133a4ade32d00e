"""Prompts that end inside a token, on the real model."""

from typing import TYPE_CHECKING

import pytest

import guideway as gw

if TYPE_CHECKING:
    from guideway.api.model import Model

pytestmark = pytest.mark.model


def test_a_prompt_that_ends_inside_a_token_goes_on_as_if_it_did_not(built_in: "Model") -> None:
    prompts = [
        "The URL is http:",
        "def f(x):\n    retur",
        "The capital of Fran",
        "In 1995, indivis",
    ]
    healed = built_in.generate(prompts, heal=True, max_new_tokens=6)
    naive = built_in.generate(prompts, max_new_tokens=6)
    assert [result.text[:2] for result in healed[:3]] == ["//", "n ", "ce"]
    assert healed[3].text.startswith("ib")
    for result, before, prompt in zip(healed, naive, prompts, strict=True):
        assert result.text != before.text
        spelled = b"".join(built_in.vocabulary.tokens[token] or b"" for token in result.tokens)
        assert spelled.endswith(result.text.encode())
        lead = spelled.removesuffix(result.text.encode())
        assert lead
        assert prompt.encode().endswith(lead)
    url = built_in.generate(prompts[0], gw.Regex(r"//[a-z.]+\.com"), heal=True, max_new_tokens=12)
    assert url.text.startswith("//www.example.com")
    assert built_in.vocabulary.tokens[url.tokens[0]] == b"://"
