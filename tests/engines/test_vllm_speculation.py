"""Speculation in vLLM: drafts are validated, masked at each position and rolled back."""

import pytest

from engines.vllm_requests import (
    BACKEND,
    DRAFTS,
    PROMPTS,
    apart,
    asked,
    check,
    free,
    generated,
    texts,
)

COPY = 'Copy: {"name": "Bob", "age": 12, "tags": ["a", "b"]} {"name": "Bob", "age": 12} Copy:'
NAMES = ["json", "regex", "grammar", "lark", "siblings", "json"]
SETTINGS = {"structured_outputs_config": BACKEND}


def test_speculation_gives_valid_texts():
    """vllm#48228: doubled braces under speculation."""
    drawn = [asked(name, "backend", seed=n) for n, name in enumerate(NAMES)]
    prompts = [COPY] * len(NAMES) + PROMPTS[:1]
    outputs = apart(
        generated, prompts, [*drawn, free(0)], SETTINGS | {"speculative_config": DRAFTS}
    )
    for name, output in zip(NAMES, outputs, strict=False):
        check(name, output.outputs[0])


def test_greedy_texts_are_those_of_one_token_at_a_time():
    greedy = [asked(name, "backend", temperature=0) for name in NAMES]
    drafted, plain = (
        texts(apart(generated, [COPY] * len(NAMES), greedy, SETTINGS | more))
        for more in ({"speculative_config": DRAFTS}, {})
    )
    assert drafted == plain


def test_a_processor_beside_speculation_is_refused():
    """sglang#26330: a processor that did not run under speculation."""
    processor = "guideway.integrations.vllm:GuidewayV1"
    settings = {"speculative_config": DRAFTS, "logits_processors": [processor]}
    with pytest.raises(ValueError, match="logits processors are not supported"):
        apart(generated, PROMPTS[:1], [free(0)], settings)
