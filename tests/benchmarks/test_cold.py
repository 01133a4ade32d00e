"""The benchmark of cold starts: kernels are compiled once, and there is a line for each process."""

import pytest

from benchmarks import cold
from benchmarks.commands import run


def test_kernels_are_compiled_with_an_empty_cache_only() -> None:
    empty, filled = cold.measure("regex")
    assert (empty.cache, filled.cache) == ("empty", "filled")
    assert empty.kernels > 2 * filled.kernels > 0


def test_there_is_a_line_for_each_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold, "measure", lambda name: [cold.Figure(name, "empty", 1, 2, 3)])
    with pytest.raises(SystemExit) as done:
        run(["cold"])
    assert not done.value.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == cold.HEAD
    assert [line.split("empty")[1].split() for line in lines[1:]] == [["1.00", "2.00", "3.00"]] * 3
