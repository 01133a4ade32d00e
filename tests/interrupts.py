"""Searches that the keyboard interrupts, and what they have found by then."""

from collections.abc import Sequence

import pytest

from guideway.generation.row.request import Completion, Request
from guideway.models.fake import FakeModel
from guideway.search.loop import Searching


def interrupted(model: FakeModel, requests: Sequence[Request]) -> list[list[Completion]]:
    """The completions of searches whose model raises `KeyboardInterrupt`."""
    searching = Searching(model, requests)
    with pytest.raises(KeyboardInterrupt):
        searching.run()
    return searching.completions
