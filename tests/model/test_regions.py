"""Regions, tools and special tokens on the real model, in few tokens."""

import json
from typing import TYPE_CHECKING

import pytest

import guideway as gw

if TYPE_CHECKING:
    from guideway.api.model import Model

pytestmark = pytest.mark.model


def add(a: bool, b: bool) -> bool:
    """Whether one of them is true."""
    return a or b


def test_thoughts_end_in_time_for_the_answer(built_in: "Model") -> None:
    begin, end = gw.special("<issue_start>"), gw.special("<issue_closed>")
    source = gw.thinking(gw.capture("answer", bool), begin, end)
    result = built_in.generate("Is the sky blue? ", source, max_new_tokens=12)
    thought = result.text.removeprefix("<issue_start>").partition("<issue_closed>")[0]
    assert isinstance(result.value, bool)
    assert result.captures == {"answer": result.value}
    assert result.text.startswith("<issue_start>")
    names = built_in.vocabulary.special
    marks = [token for token in result.tokens if token in names.values()]
    assert marks == [names["<issue_start>"], names["<issue_closed>"]]
    assert "<issue" not in thought
    assert len(result.tokens) <= 12


def test_a_tool_is_called_in_the_format_of_a_template(built_in: "Model") -> None:
    tools = gw.tools([add], "llama3", choice="add", parallel=False)
    result = built_in.generate("Is it? ", tools, max_new_tokens=36)
    (call,) = result.tool_calls
    assert json.loads(result.text) == {"name": "add", "parameters": call.arguments}
    assert call.tool(**call.arguments) in (True, False)


def test_regions_in_free_text_are_held_and_text_is_not(built_in: "Model") -> None:
    source = gw.tagged(" is", gw.Choice([" <it>", " <not>"]), at_least=1, at_most=1)
    prompt = "The capital of France"
    result = built_in.generate(prompt, source, max_new_tokens=10)
    assert result.text.count(" is <") == result.text.count(" is") == 1
    assert result.value in ([" <it>"], [" <not>"])
