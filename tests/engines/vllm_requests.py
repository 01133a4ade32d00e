"""Requests for vLLM's `LLM` on the CPU, and checks of their texts that share no code with guideway.

The engine runs in the process that makes it, so that it needs few seconds of CPU time. An engine
after the first mask of a process needs one of its own (`apart`): vLLM 0.32 on CPUs looks at all
modules of the process and fails at that of llvmlite, which compiles our kernels.
"""

import json
import multiprocessing
import os
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="needs vllm: python tests/engines/run.py vllm")
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jsonschema
from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

from engines.random_model import model
from guideway.integrations.vllm import register

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8},
                   "age": {"type": "integer", "minimum": 0, "maximum": 150},
                   "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2,
                            "uniqueItems": True}},
    "required": ["name", "age", "tags"],
}  # fmt: skip
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
    "long": ("regex", "(?:[a-z] ){50}x"),
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
BACKEND = {"backend": "guideway"}
DRAFTS = {"method": "ngram", "num_speculative_tokens": 3}
DRAFTS |= {"prompt_lookup_max": 3, "prompt_lookup_min": 1}
PROMPTS = [f"Write something about the {thing}: " for thing in ("sea", "cat", "king", "train")]


def started(**settings: Any) -> LLM:
    """An engine with our back end, if `settings` name it."""
    register()
    folder, load_format = model(Path(tempfile.mkdtemp()))
    sizes = {"max_model_len": 256, "max_num_seqs": 16, "max_num_batched_tokens": 256}
    settings = {"load_format": load_format, "dtype": "float32", **sizes, **settings}
    return LLM(folder, enforce_eager=True, **settings)


def generated(prompts: list[str], params: list[SamplingParams], settings: dict[str, Any]) -> Any:
    """The outputs of a new engine."""
    return started(**settings).generate(prompts, params, use_tqdm=False)


def apart(function: Callable[..., Any], *given: Any) -> Any:
    """The result of a function in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def texts(outputs: list[Any]) -> list[str]:
    return [each.text for output in outputs for each in output.outputs]


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
        case "regex" | "long":
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


def reasoned(settings: dict[str, Any]) -> Any:
    """Outputs of a new engine, without the thoughts: the tokens up to the first id 4 * n."""
    llm = started(**settings)
    params = [asked("json", "backend", seed=n) for n in range(8)]
    outputs = llm.generate(PROMPTS * 2, params, use_tqdm=False)
    for output in (output.outputs[0] for output in outputs):
        tokens = [*output.token_ids]
        output.thoughts = 1 + next(n for n, token in enumerate(tokens) if token % 4 == 0)
        output.text = llm.get_tokenizer().decode(
            tokens[output.thoughts :], skip_special_tokens=True
        )
    return [output.outputs[0] for output in outputs]


def crowded(params: list[SamplingParams]) -> tuple[Any, int]:
    """Outputs of a new engine with room for three texts or so, and the number of preemptions."""
    llm = started(
        structured_outputs_config=BACKEND,
        logits_processors=["guideway.integrations.vllm:GuidewayV1"],
        block_size=32,
        num_gpu_blocks_override=12,
        disable_log_stats=False,
    )
    outputs = llm.generate([PROMPTS[n % 4] for n in range(len(params))], params, use_tqdm=False)
    counted = [each.value for each in llm.get_metrics() if each.name == "vllm:num_preemptions"]
    return outputs, sum(counted)
