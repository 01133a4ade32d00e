"""Special tokens on the real model, in few tokens."""

from typing import TYPE_CHECKING

import pytest

import guideway as gw

if TYPE_CHECKING:
    from guideway.api.model import Model

pytestmark = pytest.mark.model


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
