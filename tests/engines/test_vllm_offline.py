"""vLLM's `LLM` on the CPU: our back end and our processor beside free rows, in real batches."""

import re
from typing import Any

import pytest

from engines.vllm_requests import (
    BACKEND,
    KINDS,
    PROMPTS,
    apart,
    asked,
    check,
    free,
    generated,
    started,
    texts,
)


@pytest.fixture(scope="module")
def plain() -> list[str]:
    """Free rows of an engine without guideway."""
    return texts(apart(generated, PROMPTS, [free(n) for n in range(4)], {}))


@pytest.fixture(scope="module")
def llm() -> Any:
    processor = "guideway.integrations.vllm:GuidewayV1"
    return started(structured_outputs_config=BACKEND, logits_processors=[processor])


def generate(llm: Any, prompts: list[str], params: list[Any]) -> Any:
    return llm.generate(prompts, params, use_tqdm=False)


def test_all_kinds_in_both_ways_and_free_rows_in_one_batch(llm: Any, plain: list[str]):
    """At temperature 1; more requests than rows, so that rows are freed, filled and moved."""
    requests = [(name, way) for way in ("V1", "backend") for name in KINDS]
    params = [asked(name, way, seed=n, n=1 + n % 3) for n, (name, way) in enumerate(requests)]
    prompts = [*(PROMPTS[n % 4] for n in range(len(requests))), *PROMPTS]
    outputs = generate(llm, prompts, [*params, *map(free, range(4))])
    for n, ((name, _), output) in enumerate(zip(requests, outputs, strict=False)):
        assert len(output.outputs) == 1 + n % 3
        assert name != "long" or len({*texts([output])}) == 3
        for each in output.outputs:
            check(name, each)
    assert texts(outputs[-4:]) == plain


BAD: list[tuple[str, Any]] = [
    ("json", {"type": "strin"}),
    ("regex", "(a"),
    ("grammar", "root ::= missing"),
    ("json", {"type": "string", "pattern": "^[0-9]+$", "enum": ["a"]}),
]


@pytest.mark.parametrize("way", ["V1", "backend"])
def test_a_malformed_source_fails_its_request_and_the_engine_goes_on(
    llm: Any, way: str, monkeypatch: pytest.MonkeyPatch
):
    """vllm#43920: a malformed grammar ended the engine's process."""
    from vllm.exceptions import VLLMValidationError

    for kind, value in BAD:
        monkeypatch.setitem(KINDS, "bad", (kind, value))
        with pytest.raises(VLLMValidationError, match="guideway"):
            generate(llm, PROMPTS[:1], [asked("bad", way)])
    [output] = generate(llm, PROMPTS[:1], [asked("choice", way)])
    check("choice", output.outputs[0])


def test_an_empty_schema_and_whitespace_that_the_model_wants_end(llm: Any):
    """vllm#52011: endless digits for the schema {}; vllm#38696, omlx#2990: endless whitespace."""
    spaces = {llm.get_tokenizer().encode(each)[-1]: 50.0 for each in (" ", "\n", "\t", "  ")}
    params = [asked("json", "backend", logit_bias=spaces, seed=n) for n in range(2)]
    for output in generate(llm, PROMPTS[:2], params):
        assert not re.search(r"\s{70}", output.outputs[0].text)


@pytest.mark.parametrize("way", ["V1", "backend"])
@pytest.mark.parametrize("stop", ["Ċ", '":'])
def test_a_stop_id_of_a_request_ends_a_text_and_is_not_in_it(llm: Any, way: str, stop: str):
    """Without our care, vLLM would stop at a line break within the object."""
    token = llm.get_tokenizer().convert_tokens_to_ids(stop)
    params = [
        asked("json", way, seed=n, stop_token_ids=[token], logit_bias={token: 60.0})
        for n in range(4)
    ]
    for output in generate(llm, PROMPTS, params):
        check("json", output.outputs[0])
        assert output.outputs[0].stop_reason == token
