"""The table of what is accepted: the instances are invalid, and guideway accepts none of them."""

import json
from typing import Any

import jsonschema
import pytest

import guideway as gw
from benchmarks.llama_cpp import verdict
from benchmarks.llama_cpp_cases import CASES, TWICE

BYTES = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<eos>"], eos_ids={256})
Checker = jsonschema.Draft202012Validator


@pytest.mark.parametrize("name", CASES)
def test_instances_are_invalid_and_not_accepted(name: str):
    schema, instance = CASES[name]
    if name != TWICE:
        checker = Checker(schema, format_checker=Checker.FORMAT_CHECKER)
        assert not checker.is_valid(instance)
    text = instance if name == TWICE else json.dumps(instance)
    assert verdict(schema, text, BYTES) != "accepted"


def test_a_valid_instance_is_accepted():
    schema: Any = {"type": "integer", "minimum": 10}
    assert verdict(schema, "12", BYTES) == "accepted"
