"""The house itself: sizes, docstrings, names, the error tree, what an import costs, the README."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import guideway
from guideway import errors
from lines import changed

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "guideway"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINES_AT_MOST = 800
MODULES_AT_MOST = 22
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "misc", "shared", "lib"}
TOP_LEVEL = {
    *("src", "grammars", "tests", "examples", "docs", "pyproject.toml", "mkdocs.yml"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"),
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_is_short_and_says_first_what_it_is(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_AT_MOST
    assert ast.get_docstring(tree(path)), "no module docstring"


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES}), ids=name)
def test_a_folder_has_few_modules(folder: Path) -> None:
    assert len({*folder.glob("*.py")} - {folder / "__init__.py"}) <= MODULES_AT_MOST


def test_the_lines_of_src_only_fall() -> None:
    assert not changed(), (
        "lines of src by folder (in tests/lines.json, now): run `python tests/lines.py`, and give "
        "the reason for a rise in the commit message"
    )


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_does_not_postpone_its_annotations(path: Path) -> None:
    # It would blind the shape checks of jaxtyping.
    futures = [n for n in ast.walk(tree(path)) if isinstance(n, ast.ImportFrom)]
    assert not any(n.module == "__future__" for n in futures)


def test_no_room_is_a_lumber_room() -> None:
    rooms = {part for path in PACKAGE.rglob("*") for part in path.relative_to(PACKAGE).parts}
    assert not {Path(room).stem for room in rooms} & FORBIDDEN


def test_the_top_level_holds_what_the_readme_says_and_nothing_else() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    tops = {path.split("/")[0] for path in listed if path}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


def test_every_room_is_in_the_map_of_the_documentation() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    mapped = set(re.findall(r"^\| `(\w+)/` \|", page, flags=re.MULTILINE))
    assert mapped == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_public_names_are_sorted_and_every_listing_of_them_agrees() -> None:
    module = tree(PACKAGE / "__init__.py")
    guarded = next(node for node in module.body if isinstance(node, ast.If))
    mirrored = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert guideway.__all__ == sorted(guideway.__all__)
    assert guideway.__all__ == list(guideway.HOMES) == dir(guideway)
    assert mirrored == guideway.HOMES


@pytest.mark.parametrize("public", guideway.__all__)
def test_a_public_name_has_a_docstring_and_lives_where_the_table_says(public: str) -> None:
    value = getattr(guideway, public)
    assert value.__doc__
    assert value.__module__ == guideway.HOMES[public]


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'guideway' has no attribute 'nonsense'"):
        _ = guideway.nonsense  # pyright: ignore[reportAttributeAccessIssue]


def test_the_error_tree_that_is_drawn_is_the_tree_of_the_classes() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    assert [error.__name__ for error in errors.GuidewayError.__subclasses__()] == drawn
    public = {n for n in guideway.__all__ if guideway.HOMES[n] == "guideway.errors"}
    assert public - {*drawn} == {"GenerationInterrupted", "GuidewayError", "GuidewayWarning"}


def test_the_tests_that_pages_and_scripts_name_are_there() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/run.py")]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"\btests/[\w/]+\.py\b", texts))
    assert named
    assert not [path for path in sorted(named) if not (ROOT / path).is_file()]


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after `statement`, its own ones aside."""
    code = "\n".join([
        "import json, sys",
        "before = set(sys.modules)",
        statement,
        "print(json.dumps(sorted(set(sys.modules) - before)))",
    ])  # fmt: skip
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    return {module.split(".")[0] for module in json.loads(shown)} - set(sys.stdlib_module_names)


def test_importing_guideway_loads_numpy_and_our_own_modules_only() -> None:
    assert modules_after("import guideway") <= {"guideway", "numpy"}


def test_compiling_a_regex_loads_neither_torch_nor_transformers() -> None:
    compiling = (
        "import guideway as gw; "
        "gw.compile(gw.Regex('a|b'), gw.Vocabulary([b'a', b'b', b'e'], eos_ids={2})).example()"
    )
    assert not modules_after(compiling) & {"torch", "transformers", "tokenizers"}


def test_ci_runs_the_second_command_of_the_readme_word_for_word() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    _, second = (line for line in lines if line.startswith("python3 -m venv .venv && "))
    assert second in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
