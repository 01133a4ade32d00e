"""Every example runs, and prints what its docstring says; two of them with `-m slow` only."""

import ast
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import guideway

OWN = {"guideway", "numpy", "pydantic", "tokenizers", "torch", "transformers"}
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TALES = ["Once there was a king who had a daughter.", "The old woman wept."] * 2
SITCOM = ["Hey, how are you doing?", "Oh my God! No way!"] * 2
# What each prints. Studies, which measure something, run in a small size, by arguments of `main`.
PRINTS = {
    "algebra": ("nested & '.{5,6}'  for one: ((x))", "is the same: False, '' is in other only",
                "no text is in both Gbnf(", "'no' neither"),
    "chat": ("per token: 1 forward of 2 rows", "you: Who are you?", "bot: "),
    "choose": ("{'positive': 0.", "'negative': 0."),
    "errors": ("SourceError: ", "UnsupportedError: ", "UnsatisfiableError: "),
    "fake": ("Temperature(degrees=", "unit='"),
    "grammar_aligned": ("rejection: 00000 0.0%; ", "truth: happy 88.9%", "smc: happy ",
                        "the language has 0."),
    "heads": ("off     1.00 tokens a forward, no drafts", "heads   ",
              "the letters are the same: True"),
    "in_transformers": ("'do_sample': False} gives Person(name='",
                        "'num_beams': 3} gives Person(name='",
                        "'max_time': 1.0} is refused: max_time does not work with a constraint"),
    "masks": ("2 1 20       distance 6", "forced '-x<end>'", "may end here: True"),
    "operators": ("word + '!'                 'a!'", "['hello', '12']"),
    "person": ("Person(name='Maria Lopez', age=34, profession='", "tokens, "),
    "personas": ("the judge is right on", "alpha   0.0: ", "alpha   0.5: ",
                 "% judged tales, perplexity "),
    "proxy_tuning": ("guided is Model(large + tuned_small - small)", "of 16 people"),
    "reasoning": ("<think>", "</think>", "tokens; kind='", "{'answer': Answer(kind="),
    "results": ("age=2) length, shortened=True", "age=25) stop, shortened=False",
                "was refused: the value is refused: 1 validation error for Checked",
                "item 0\n1 of 2 done, and Ctrl-C\nthe loop has ended, with [Result(value="),
    "safe_generation": ("safe: 0% rude", "Answer(action=", "Refusal(action="),
    "self_consistency": ("greedy         ", "one draw       ", "majority of 2  ",
                         "% of the draws read "),
    "steer_language": ("weight 0: 0%", "weight 6: 100%"),
    "stream": ("items=[", "pieces="),
    "tools": ("What is the weather in Oslo?", "weather({'city': 'Oslo'", "}) = 18 degrees "),
    "watermark": ("  0% replaced: z ", " 50% replaced: z ", "with another key: z "),
}  # fmt: skip
STUDIES: dict[str, dict[str, Any]] = {
    "grammar_aligned": {"count": 1},
    "heads": {"train": 2, "test": 1, "tokens": 6},
    "personas": {"tales": TALES, "sitcom": SITCOM, "alphas": (0.0, 0.5), "samples": 1, "tokens": 3,
                 "prompts": ("At last", "When the door opened,")},
    "proxy_tuning": {"count": 20, "steps": 3},
    "self_consistency": {"count": 1, "draws": 2},
    "tools": {"questions": ["What is the weather in Oslo?"]},
    "watermark": {"tokens": 24, "shares": (0, 0.5)},
}  # fmt: skip
WITHOUT_MODEL = {"algebra", "errors", "fake", "masks", "operators", "proxy_tuning"}
LONG = {"chat", "reasoning"}  # half of the time of all
# Too large for the test extra: it runs where it is installed.
PACKAGES = {"safe_generation": "profanity_check"}
# These need a package with an environment of its own: tests/engines runs them.
IN_ENGINES = {"many_texts"}


def test_every_example_is_run_here_and_says_what_you_will_see() -> None:
    files = {path.stem: path for path in EXAMPLES.glob("*.py")}
    assert set(files) == {*PRINTS, *IN_ENGINES}
    for name, path in files.items():
        text = path.read_text(encoding="utf-8")
        module = ast.parse(text)
        docstring = ast.get_docstring(module) or ""
        assert "You will see" in docstring
        assert f"python examples/{name}.py" in docstring
        extra = "[ray]" if name in IN_ENGINES else "[examples]"
        assert (extra in docstring) == bool(imported(module) - OWN - sys.stdlib_module_names)
        assert len(text.splitlines()) <= (130 if name in {*STUDIES, *IN_ENGINES} else 60)


def imported(module: ast.Module) -> set[str]:
    """The packages that a module imports."""
    nodes = list(ast.walk(module))
    plain = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    return {name.split(".")[0] for name in plain} | {
        node.module.split(".")[0]
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module
    }


def test_packages_of_examples_are_in_their_extra() -> None:
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))
    extra = " ".join(project["project"]["optional-dependencies"]["examples"])
    assert all(package in extra for package in ("guideway[torch]", "py3langid", "profanity"))


def test_an_example_with_an_argument_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["personas.py"])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(EXAMPLES / "personas.py"), run_name="__main__")
    assert left.value.code == 2
    assert "usage: personas.py [-h] wheel" in capsys.readouterr().err


def test_ctrl_d_ends_a_chat_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def typed(prompt: str) -> str:
        if not lines:
            raise EOFError
        return lines.pop()

    lines = ["Who are you?"]
    chat = runpy.run_path(str(EXAMPLES / "chat.py"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", typed)
    assert [*chat["questions"]()] == ["Who are you?"]
    assert capsys.readouterr().out == "\n"


def marks(name: str) -> list[pytest.MarkDecorator]:
    slow = [pytest.mark.slow] if name in LONG else []
    return slow if name in WITHOUT_MODEL else [*slow, pytest.mark.model]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PRINTS])
def test_an_example_prints_what_it_promises(
    name: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    if name not in WITHOUT_MODEL:
        model = request.getfixturevalue("built_in")
        monkeypatch.setattr(guideway, "load", lambda name: model)
    run_name = "<run_path>" if name in STUDIES else "__main__"
    module = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name=run_name)
    if name in STUDIES:
        module["main"](**STUDIES[name])
    shown = capsys.readouterr().out
    assert all(part in shown for part in PRINTS[name]), shown
