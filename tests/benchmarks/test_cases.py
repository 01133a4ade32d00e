"""The benchmarks' cases are what they claim: texts are valid, and loops draw the same."""

import json
from functools import partial
from typing import Any

import pytest
import torch
from jsonschema import Draft202012Validator

import guideway as gw
from benchmarks import tables
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
        asking()
        plain()
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
