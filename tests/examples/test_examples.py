"""Every example runs, and prints what its docstring says; two of them with `-m slow` only."""

import ast
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import guideway

OWN = {"guideway", "numpy", "pydantic", "tokenizers", "torch", "transformers"}
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WITHOUT_MODEL = {
    "algebra": ("nested & '.{5,6}'  for one: ((x))", "is the same: False, '' is in other only",
                "no text is in both Gbnf(", "'no' neither"),
    "errors": ("SourceError: ", "UnsupportedError: ", "UnsatisfiableError: "),
    "fake": ("Temperature(degrees=", "unit='"),
    "masks": ("2 1 20       distance 6", "forced '-x<end>'", "may end here: True"),
    "operators": ("word + '!'                 'a!'", "['hello', '12']"),
}  # fmt: skip
WITH_MODEL = {
    "chat": ("per token: 1 forward of 2 rows", "you: Who are you?", "bot: "),
    "choose": ("{'positive': 0.", "'negative': 0."),
    "in_transformers": ("'do_sample': False} gives Person(name='",
                        "'num_beams': 3} gives Person(name='",
                        "'max_time': 1.0} is refused: max_time does not work with a constraint"),
    "person": ("Person(name='Maria Lopez', age=34, profession='", "tokens, "),
    "results": ("age=2) length, shortened=True", "age=25) stop, shortened=False",
                "was refused: the value is refused: 1 validation error for Checked",
                "item 0\n1 of 2 done, and Ctrl-C\nthe loop has ended, with [Result(value="),
    "reasoning": ("<think>", "</think>", "tokens; kind='", "{'answer': Answer(kind="),
    "stream": ("items=[", "pieces="),
    "steer_language": ("weight 0: 0%", "weight 6: 100%"),
}  # fmt: skip
LONG = {"chat", "reasoning"}  # half of the time of all
# Too large for the test extra: it runs where it is installed.
WITH_PACKAGE = {"safe_generation": ("safe: 0% rude", "Answer(action=", "Refusal(action=")}
PACKAGES = {"safe_generation": "profanity_check"}
# These need a package with an environment of its own: tests/engines runs them.
IN_ENGINES = {"many_texts"}
# Longer ones that measure something: here in a small size, by the arguments of their `main`.
STUDIES = {
    "proxy_tuning": ({"count": 20, "steps": 3},
                     ("guided is Model(large + tuned_small - small)", "of 16 people")),
}  # fmt: skip
STUDIES_WITH_MODEL = {
    "heads": ({"train": 2, "test": 1, "tokens": 6},
              ("off     1.00 tokens a forward, no drafts", "heads   ",
               "the letters are the same: True")),
    "tools": ({"questions": ["What is the weather in Oslo?"]},
              ("What is the weather in Oslo?", "weather({'city': 'Oslo'", "}) = 18 degrees ")),
    "self_consistency": ({"count": 1, "draws": 2},
                         ("greedy         ", "one draw       ", "majority of 2  ",
                          "% of the draws read ")),
    "grammar_aligned": ({"count": 1},
                        ("rejection: 00000 0.0%; ", "truth: happy 88.9%", "smc: happy ",
                         "the language has 0.")),
    "watermark": ({"tokens": 24, "shares": (0, 0.5)},
                  ("  0% replaced: z ", " 50% replaced: z ", "with another key: z ")),
    "personas": ({"tales": ["Once there was a king who had a daughter.", "The old woman wept."] * 2,
                  "sitcom": ["Hey, how are you doing?", "Oh my God! No way!"] * 2,
                  "alphas": (0.0, 0.5), "prompts": ("At last", "When the door opened,"),
                  "samples": 1, "tokens": 3},
                 ("the judge is right on", "alpha   0.0: ", "alpha   0.5: ",
                  "% judged tales, perplexity ")),
}  # fmt: skip


def test_every_example_is_run_here_and_says_what_you_will_see() -> None:
    files = {path.stem: path for path in EXAMPLES.glob("*.py")}
    studies = {*STUDIES, *STUDIES_WITH_MODEL}
    assert set(files) == {*WITHOUT_MODEL, *WITH_MODEL, *WITH_PACKAGE, *IN_ENGINES, *studies}
    for name, path in files.items():
        text = path.read_text(encoding="utf-8")
        module = ast.parse(text)
        docstring = ast.get_docstring(module) or ""
        assert "You will see" in docstring
        assert f"python examples/{name}.py" in docstring
        extra = "[ray]" if name in IN_ENGINES else "[examples]"
        assert (extra in docstring) == bool(imported(module) - OWN - sys.stdlib_module_names)
        assert len(text.splitlines()) <= (130 if name in {*studies, *IN_ENGINES} else 60)


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


def test_an_example_with_an_argument_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    argv = sys.argv
    try:
        sys.argv = ["personas.py"]
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(EXAMPLES / "personas.py"), run_name="__main__")
    finally:
        sys.argv = argv
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


def cases() -> Iterator[Any]:
    """Each example with the arguments of its `main`, or None for a script, and what it prints."""
    for name, said in {**WITHOUT_MODEL, **WITH_MODEL, **WITH_PACKAGE}.items():
        marks = [pytest.mark.slow] if name in LONG else []
        marks += [] if name in WITHOUT_MODEL else [pytest.mark.model]
        yield pytest.param(name, None, said, marks=marks, id=name)
    for name, (arguments, said) in {**STUDIES, **STUDIES_WITH_MODEL}.items():
        marks = [] if name in STUDIES else [pytest.mark.model]
        yield pytest.param(name, arguments, said, marks=marks, id=name)


@pytest.mark.parametrize(("name", "arguments", "said"), [*cases()])
def test_an_example_prints_what_it_promises(
    name: str,
    arguments: dict[str, Any] | None,
    said: tuple[str, ...],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    if name not in {**WITHOUT_MODEL, **STUDIES}:
        model = request.getfixturevalue("built_in")
        monkeypatch.setattr(guideway, "load", lambda name: model)
    run_name = "__main__" if arguments is None else "<run_path>"
    module = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name=run_name)
    if arguments is not None:
        module["main"](**arguments)
    shown = capsys.readouterr().out
    assert all(part in shown for part in said), shown
