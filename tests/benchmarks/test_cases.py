"""The benchmarks' cases are what they claim: texts are valid, loops draw the same, graphs live."""

import contextlib
import gc
import json
import weakref
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from jsonschema import Draft202012Validator

import guideway as gw
from benchmarks import tables
from benchmarks.grammars_written import lark_reads
from benchmarks.llama_cpp import verdict
from benchmarks.llama_cpp_cases import CASES as EXCLUDED
from benchmarks.llama_cpp_cases import TWICE
from benchmarks.mask_cases import CASES
from random_walks import BYTES

CPU = torch.device("cpu")


def is_valid(schema: Any, value: Any) -> bool:
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(schema, format_checker=checker).is_valid(value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_text_is_allowed_by_its_schema(case: Any) -> None:
    _, schema, values = case
    Draft202012Validator.check_schema(schema)
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    assert values
    for value in values:
        assert is_valid(schema, value)
        assert constraint.matches(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("name", EXCLUDED)
def test_instances_that_a_keyword_excludes_are_invalid_and_not_accepted(name: str) -> None:
    schema, instance = EXCLUDED[name]
    assert name == TWICE or not is_valid(schema, instance)
    text = instance if name == TWICE else json.dumps(instance)
    assert verdict(schema, text, BYTES) != "accepted"


def test_lark_judges_what_is_in_lark() -> None:
    reads = lark_reads("yaml")
    assert reads("a:\n  b: 1\n")
    assert not reads("a:\n   b: 1\n  c: 2\n")
    assert not reads("a")


def test_tables_and_masks_choose_the_same_tokens() -> None:
    words = tables.made_vocabulary(5000)
    assert words.width == len(set(words.tokens)) == 5000  # no spelling twice
    assert {bytes([byte]) for byte in range(256)} <= set(words.tokens)
    constraint = tables.compiled(tables.made_vocabulary(700))
    forward = tables.Forward(700, 1, 16, CPU)
    asking = tables.Masks(constraint, forward, 3)
    asking._tokens.copy_(torch.tensor([1, 5, 9]))
    tokens = asking._tokens.clone()
    held = tables.on_device(constraint, 3, CPU, anew=True)
    plain = partial(tables._tables, forward, tokens, held)
    states = [constraint.start()] * 3
    ended = 0
    for _ in range(120):
        for step in (asking, plain):
            step()
        chosen = asking._tokens.tolist()
        assert tokens.tolist() == chosen
        for row, token in enumerate(chosen):
            if token in constraint.vocabulary.eos_ids:
                assert constraint.accepts(states[row])
                states[row] = constraint.start()
                ended += 1
            else:
                states[row] = constraint.advance(states[row], token)  # or it is refused here
    assert ended, "a text ends, and another one begins"


def test_what_a_graph_reads_lives_as_long_as_the_graph(monkeypatch) -> None:
    replayed = list[int]()
    stream = SimpleNamespace(wait_stream=lambda other: None, cuda_stream=0)
    graph = SimpleNamespace(replay=lambda: replayed.append(1))
    for name, stand_in in {
        "Stream": lambda device: stream,
        "current_stream": lambda device: stream,
        "stream": contextlib.nullcontext,
        "CUDAGraph": lambda: graph,
        "graph": lambda graph, **_: contextlib.nullcontext(),
        "graph_pool_handle": lambda: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    read = torch.zeros(3)
    loop = tables.captured(partial(torch.Tensor.add_, read, 1), torch.device("cuda"))
    place = weakref.ref(read)
    del read
    gc.collect()
    kept = place()
    assert kept is not None, "a graph knows an address alone"
    done = int(kept[0])
    loop()
    assert (int(kept[0]), replayed) == (done, [1]), "a graph runs in the step's stead"
