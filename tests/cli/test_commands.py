"""The commands on a fake model: what goes to which stream, and which status they leave."""

import json
from pathlib import Path

import pytest

from fairlead.cli.main import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def status(*arguments: str) -> int:
    """The exit status of `fairlead arguments`."""
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    return int(left.value.code or 0)


@pytest.mark.parametrize("command", ["extract", "generate", "choose", "explain", "warmup"])
def test_every_command_explains_itself_and_the_exit_statuses(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(command, "--help") == 0
    shown = capsys.readouterr().out
    assert f"fairlead {command}" in shown
    assert "130" in shown


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--version") == 0
    assert capsys.readouterr().out.startswith("fairlead 0.")


def test_explain_prints_every_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("explain", "/(19|20)[0-9]{2}/") == 0
    shown = capsys.readouterr().out
    for said in (
        "tree\n",
        "core expression\n",
        "automaton   5 states",
        "first mask  2 of 257 tokens: '1' '2'",
        "example     '1900'",
        "shortest    4 bytes, 4 tokens",
    ):
        assert said in shown


def test_explain_says_that_a_nested_language_has_no_last_state(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status("explain", "{}", "--lines", "3") == 0
    shown = capsys.readouterr().out
    assert "more than 2000 states" in shown
    assert "more lines (--lines" in shown


def test_explain_gives_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("explain", "datetime:date", "--json") == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["complete"] is True
    assert explained["first_mask"] == [ord('"')]
    assert explained["shortest_bytes"] == len('"0001-01-01"')


@pytest.mark.parametrize(
    ("arguments", "left", "said"),
    [
        (["explain", "nonsense"], 2, "names no source"),
        (["explain", "/(/"], 1, "SourceError"),
        (["explain", r"/(a)\1/"], 1, "UnsupportedError"),
        (["explain", '{"type": "integer", "enum": ["a"]}'], 1, "UnsatisfiableError"),
        (["extract", "missing.txt", "--schema", "datetime:date"], 2, "no file"),
        (["extract", "two words", "--schema", "missing.json"], 2, "no file"),
        (["extract", "two words"], 2, "--schema"),
        (["warmup", "--model", "./nowhere.gguf"], 3, "ModelError"),
    ],
)
def test_what_is_wrong_goes_to_stderr_without_a_trace(
    arguments: list[str], left: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*arguments) == left
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert "Traceback" not in shown.err
