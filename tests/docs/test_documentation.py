"""README and docs: every snippet runs and prints what the page shows; names and links exist.

The blocks of a page run from top to bottom, in one module and in an empty folder:

    ```python                  a snippet; a `text` block directly after it is what it prints
    ```… title="a.py"          a file
    ```console                 `$ python a.py` and `$ guideway …`, each with what it prints

What is printed is standard output, standard error and warnings, and the last line of a traceback.
`...` stands for anything. Other blocks do not run: `sh`, and `py` for
Python that needs a package which these tests do not have. A page that needs a model runs
on the built-in one.
"""

import contextlib
import doctest
import io
import re
import runpy
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import guideway as gw
from guideway.cli.main import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
MODEL = re.compile(r"gw\.load\(|^\$ guideway (extract|generate|choose|memory)", re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Step:
    """Something that runs, where it stands, and what the page says that it prints."""

    line: int
    code: str
    shown: str
    kind: str  # "python", "console", or the name of a file
    raises: bool = False


def steps(text: str) -> Iterator[Step]:
    """The steps of a page in their order."""
    blocks = list(FENCE.finditer(text))
    for number, block in enumerate(blocks):
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        language, title, code = block.groups()
        line = text.count("\n", 0, block.start(3))
        if title:
            yield Step(line, code, "", title)
        elif language == "console":
            for one in code.split("$ ")[1:]:
                command, _, shown = one.partition("\n")
                yield Step(line, command, shown, "console")
        elif language == "python":
            output = None
            if after is not None and after[1] == "text" and not after[2]:
                output = after[3] if not text[block.end() : after.start()].strip() else None
            yield Step(line, code, output or "", "python", output is not None)


def printed(step: Step, page: str, module: ModuleType) -> str:
    """What a step prints in the module of its page."""
    out = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(out))
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        try:
            executed(step, page, module)
        except Exception as error:
            if not step.raises:
                raise
            out.write(traceback.format_exception_only(error)[-1])
    return "".join(f"{w.category.__name__}: {w.message}\n" for w in warned) + out.getvalue()


def executed(step: Step, page: str, module: ModuleType) -> None:
    """Run a step."""
    if step.kind == "python":
        exec(compile("\n" * step.line + step.code, page, "exec"), vars(module))
    elif step.kind == "console":
        program, *arguments = shlex.split(step.code)
        programs: dict[str, Callable[[], object]] = {
            "python": lambda: runpy.run_path(arguments[0], run_name="__main__"),
            "guideway": lambda: run(arguments),
        }
        with contextlib.suppress(SystemExit):
            programs[program]()
    else:
        Path(step.kind).write_text(step.code, encoding="utf-8")


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def cases() -> Iterator[object]:
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        if any(True for _ in steps(text)):
            marks = [pytest.mark.model] if MODEL.search(text) else []
            yield pytest.param(path, id=page_name(path), marks=marks)


@pytest.fixture(scope="module", autouse=True)
def kernels() -> None:
    """Compile what is missing now: it is said on standard error."""
    gw.warmup()


@pytest.mark.parametrize("path", list(cases()))
def test_the_snippets_of_a_page_print_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gw, "load", LOAD)
    name = page_name(path)
    module = ModuleType(re.sub(r"\W", "_", name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for step in steps(path.read_text(encoding="utf-8")):
        got = printed(step, name, module)
        assert doctest.OutputChecker().check_output(step.shown, got, FLAGS), (
            f"{name}, line {step.line}: it prints\n{got}\nand not\n{step.shown}"
        )


LOAD = cache(gw.load)  # pages share the built-in model


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_a_relative_link_leads_to_a_file(path: Path) -> None:
    links = LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8")))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_public_name_is_in_the_reference() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    documented = re.findall(r"^::: guideway\.(\w+)$", text, re.MULTILINE)
    assert sorted(documented) == gw.__all__


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1500


def test_the_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Beside other libraries")[2].partition("## ")[0]
    rows = [row for row in table.splitlines() if "judged right" in row or "Test Suite" in row]
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    figures = re.findall(r"\b\d[\d,]{2,}\b", " ".join(rows))
    assert len(figures) == 11
    assert [figure for figure in figures if figure not in benchmarks] == []
