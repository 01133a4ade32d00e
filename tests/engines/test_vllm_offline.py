"""vLLM's `LLM` on the CPU: our back end and our processor beside free rows, in real batches.

The engine runs in the process of the tests, so that they need few seconds of CPU time;
`test_vllm_server.py` has its processes apart. Oracles share no code with guideway.
"""

import json
import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm")
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent))

import jsonschema
from random_model import model
from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

from guideway.integrations.vllm import register

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {
            "type": "array",
            "items": {"enum": ["a", "b"]},
            "maxItems": 2,
            "uniqueItems": True,
        },
    },
    "required": ["name", "age", "tags"],
}
# xgrammar#858: with anyOf beside properties, any JSON passed.
SIBLINGS: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2]}, "b": {"const": 3}, "c": {"const": 4}},
    "required": ["a"],
    "anyOf": [{"required": ["b"]}, {"required": ["c"]}],
}
KINDS: dict[str, tuple[str, Any]] = {
    "json": ("json", SCHEMA),
    "regex": ("regex", r"[A-Z][a-z]{2,8}, \d{4}-\d{2}"),
    "grammar": ("grammar", 'root ::= [0-9] | "(" root ")"'),
    "lark": ("grammar", 'start: "<" /[a-z]{1,5}/ ">"'),
    "choice": ("choice", ["yes", "no", "not at all"]),
    # vllm#45592: a pattern dropped maxLength without a word.
    "pattern": ("json", {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4}),
    "siblings": ("json", SIBLINGS),
    # sglang#37839: keywords that xgrammar drops.
    "dropped": (
        "json",
        {"type": "array", "items": {"enum": [1, 2, 3]}, "contains": {"const": 3}, "maxItems": 3},
    ),
}
PROMPTS = [f"Write something about the {thing}: " for thing in ("sea", "cat", "king", "train")]


@cache
def started(**settings: str) -> LLM:
    """An engine; the values are JSON, so that equal settings share one."""
    folder, load_format = model(Path(tempfile.mkdtemp()))
    return LLM(
        folder,
        load_format=load_format,
        dtype="float32",
        max_model_len=256,
        max_num_seqs=16,
        max_num_batched_tokens=256,
        enforce_eager=True,
        **{name: json.loads(value) for name, value in settings.items()},
    )


def generated(llm: LLM, prompts: list[str], params: list[SamplingParams]) -> list[Any]:
    return llm.generate(prompts, params, use_tqdm=False)


def free(seed: int) -> SamplingParams:
    return SamplingParams(temperature=1.0, seed=seed, max_tokens=24)


def asked(name: str, way: str, **settings: Any) -> SamplingParams:
    kind, value = KINDS[name]
    settings = {"temperature": 1.0, "max_tokens": 120, **settings}
    if way == "V1":
        return SamplingParams(extra_args={"guideway": {kind: value}}, **settings)
    outputs = StructuredOutputsParams(**{kind: value})
    return SamplingParams(structured_outputs=outputs, **settings)


def check(name: str, output: Any) -> None:
    assert output.finish_reason == "stop", output.text
    kind, value = KINDS[name]
    match name:
        case "regex":
            assert re.fullmatch(value, output.text)
        case "choice":
            assert output.text in value
        case "grammar":
            nested = re.fullmatch(r"(\(*)[0-9](\)*)", output.text)
            assert nested
            assert len(nested[1]) == len(nested[2])
        case "lark":
            assert re.fullmatch("<[a-z]{1,5}>", output.text)
        case _:
            assert kind == "json"
            jsonschema.validate(json.loads(output.text), value)
            assert not re.search(r"\s{70}", output.text)  # vllm#38696: garbled spaces


@pytest.fixture(scope="module")
def plain() -> list[str]:
    """Free rows of an engine that does not know guideway."""
    outputs = generated(started(), PROMPTS, [free(n) for n in range(4)])
    return [each.outputs[0].text for each in outputs]


@pytest.fixture(scope="module")
def llm(plain: list[str]) -> LLM:
    register()
    return started(
        structured_outputs_config='{"backend": "guideway"}',
        logits_processors='["guideway.integrations.vllm:GuidewayV1"]',
    )


def test_all_kinds_in_both_ways_and_free_rows_in_one_batch(llm: LLM, plain: list[str]):
    """At temperature 1; more requests than rows, so that rows are freed, filled and moved."""
    requests = [(name, way) for way in ("V1", "backend") for name in KINDS]
    params = [asked(name, way, seed=n, n=1 + n % 2) for n, (name, way) in enumerate(requests)]
    prompts = [*(PROMPTS[n % 4] for n in range(len(requests))), *PROMPTS]
    outputs = generated(llm, prompts, [*params, *map(free, range(4))])
    for n, ((name, _), output) in enumerate(zip(requests, outputs, strict=False)):
        assert len(output.outputs) == 1 + n % 2
        for each in output.outputs:
            check(name, each)
    assert [each.outputs[0].text for each in outputs[-4:]] == plain


BAD: list[tuple[str, Any]] = [
    ("json", {"type": "strin"}),
    ("regex", "(a"),
    ("grammar", "root ::= missing"),
    ("json", {"type": "string", "pattern": "^[0-9]+$", "enum": ["a"]}),
]


@pytest.mark.parametrize("way", ["V1", "backend"])
def test_a_malformed_source_fails_its_request_and_the_engine_goes_on(
    llm: LLM, way: str, monkeypatch: pytest.MonkeyPatch
):
    """vllm#43920: a malformed grammar ended the engine's process."""
    for kind, value in BAD:
        monkeypatch.setitem(KINDS, "bad", (kind, value))
        with pytest.raises(VLLMValidationError, match="guideway"):
            generated(llm, PROMPTS[:1], [asked("bad", way)])
    [output] = generated(llm, PROMPTS[:1], [asked("choice", way)])
    check("choice", output.outputs[0])


def test_an_empty_schema_and_whitespace_that_the_model_wants_end(llm: LLM):
    """vllm#52011: endless digits for the schema {}; vllm#38696, omlx#2990: endless whitespace."""
    spaces = {llm.get_tokenizer().encode(each)[-1]: 50.0 for each in (" ", "\n", "\t", "  ")}
    params = [asked("json", "backend", logit_bias=spaces, seed=n) for n in range(2)]
    for output in generated(llm, PROMPTS[:2], params):
        assert not re.search(r"\s{70}", output.outputs[0].text)


def test_speculation_gives_valid_texts():
    """vllm#48228: doubled braces under speculation; drafts are validated and rolled back."""
    register()
    drafting = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}
    llm = started(
        structured_outputs_config='{"backend": "guideway"}',
        speculative_config=json.dumps(drafting | {"prompt_lookup_min": 1}),
    )
    prompt = 'Copy: {"name": "Bob", "age": 12, "tags": ["a", "b"]} {"name": "Bob", "age": 12} Copy:'
    names = ["json", "regex", "grammar", "json"]
    params = [asked(name, "backend", seed=n) for n, name in enumerate(names)]
    outputs = generated(llm, [prompt] * 4 + PROMPTS[:1], [*params, free(0)])
    for name, output in zip(names, outputs, strict=False):
        check(name, output.outputs[0])


DOT = """
from vllm.reasoning import ReasoningParser, ReasoningParserManager

@ReasoningParserManager.register_module("until_dot")
class UntilDot(ReasoningParser):
    def is_reasoning_end(self, input_ids):
        return False
    def is_reasoning_end_streaming(self, input_ids, delta_ids):
        return self.model_tokenizer.encode(".")[-1] in list(delta_ids)
    def extract_content_ids(self, input_ids):
        return input_ids
    def extract_reasoning(self, model_output, request):
        return model_output.split(".", 1)
    def extract_reasoning_streaming(self, *given):
        return None
"""


def test_reasoning_is_free_and_the_constraint_begins_after_it(tmp_path: Path):
    """lmstudio#1783: a schema disabled thinking."""
    register()
    plugin = tmp_path / "until_dot.py"
    plugin.write_text(DOT)
    config = {
        "backend": "guideway",
        "reasoning_parser": "until_dot",
        "reasoning_parser_plugin": str(plugin),
    }
    llm = started(structured_outputs_config=json.dumps(config))
    dots = {llm.get_tokenizer().encode(".")[-1]: 8.0}  # random weights hardly ever draw one
    params = [asked("json", "backend", seed=n, logit_bias=dots) for n in range(4)]
    outputs = generated(llm, PROMPTS, params)
    ended = [out.outputs[0] for out in outputs if out.outputs[0].finish_reason == "stop"]
    assert ended
    for output in ended:
        _, output.text = output.text.split(".", 1)
        check("json", output)
