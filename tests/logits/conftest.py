"""Filters have two forms: one that searches, for CPUs, and one that sorts, for GPUs."""

import pytest

from guideway.logits import filters as rim


@pytest.fixture(params=["searching", "sorting"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test in both forms, wherever it runs."""
    if request.param == "sorting":
        monkeypatch.setattr(rim, "UNSORTED", frozenset())
    return request.param
