"""The core without its extras: in processes of their own, where the modules cannot be found."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import guideway
from guideway.extras import EXTRAS
from small_tokenizers import byte_level

ROOT = Path(__file__).resolve().parent.parent
# The stages up to constraints, and bitmasks.
STAGES = (
    "errors", "language", "sources", "regex", "json_schema", "context_free", "python_types", "chat",
    "vocabulary", "automaton", "constraint",
)  # fmt: skip
CORE = {name for name, home in guideway.HOMES.items() if home.split(".")[1] in STAGES} | {
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "describe",
}
NEED_TORCH = tuple(
    f"guideway.{room}" for room in ("models", "generation", "search", "integrations")
)
# Packages with modules of another name.
MODULES = {"prometheus-client": "prometheus_client", "llama-cpp-python": "llama_cpp"}
OTHERS = ("platformdirs", "interegular", "huggingface_hub", "click", "regex", "packaging")

REFUSED = """
import json, sys
from importlib import import_module
import guideway as gw
found = {}
for name in (*gw.__all__, *sys.argv[1:]):
    try:
        getattr(gw, name) if name in gw.__all__ else import_module(name)
    except gw.ModelError as error:
        found[name] = str(error)
print(json.dumps(found))
"""
MASKS = """
import sys
from pathlib import Path
import numpy as np
import guideway as gw
vocabulary = gw.Vocabulary.from_tokenizer_json(Path(sys.argv[1]).read_bytes(), eos="e")
constraint = gw.compile(gw.JsonSchema({"enum": [{}]}, whitespace="compact"), vocabulary)
matchers = [gw.Matcher(constraint), None]
bitmask = gw.allocate_token_bitmask(2, vocabulary.width)
assert type(bitmask) is np.ndarray and bitmask.dtype == np.int32, bitmask
gw.fill_bitmask(matchers, bitmask)
logits = np.zeros((2, vocabulary.width), np.float32)
gw.apply_token_bitmask_inplace(logits, bitmask)
print([vocabulary.tokens[i] for i in np.flatnonzero(np.isfinite(logits[0]))])
assert np.isfinite(logits[1]).all()
matchers[0].fill_next_token_bitmask(bitmask, 1)
assert (bitmask[0] == bitmask[1]).all()
"""
COMMAND = "import sys; from guideway.__main__ import run; run(sys.argv[1:])"


def run(code: str, *arguments: str, without: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run `code` where the modules of the extras `without`, and others of theirs, are missing."""
    blocked = {module for extra in without for module in EXTRAS[extra]}
    blocked -= {m for e in EXTRAS if e not in without for m in EXTRAS[e]}
    blocked |= {*OTHERS} if set(without) == set(EXTRAS) else set()
    block = f"import sys; sys.modules.update(dict.fromkeys({sorted(blocked)}))\n"
    return subprocess.run(
        [sys.executable, "-c", block + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def result(code: str, *arguments: str, without: tuple[str, ...] = tuple(EXTRAS)) -> str:
    done = run(code, *arguments, without=without)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_loads_or_names_its_extra_and_so_do_packages() -> None:
    refused: dict[str, str] = json.loads(result(REFUSED, *NEED_TORCH))
    assert {"Model", "load", "Watermark", "classifier", *NEED_TORCH} <= {*refused}
    assert not CORE & {*refused}
    missing = r'\S+ needs the package \w+, which is not installed: pip install "guideway\[torch\]"'
    assert all(re.fullmatch(missing, message) for message in refused.values())


def test_masks_are_computed_on_arrays(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(byte_level())
    assert result(MASKS, str(path)) == "[b'{']\n"


def test_the_command_and_a_gguf_file_name_their_extras(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.touch()
    load = "import guideway as gw; gw.load(sys.argv[1])"
    for code, argument, extra, what in (
        (COMMAND, "--help", "cli", "the command line needs the package typer"),
        (load, str(path), "gguf", "reading a .gguf file needs the package gguf"),
    ):
        done = run(code, argument, without=(extra,))
        assert done.returncode == (3 if extra == "cli" else 1)
        message = f'{what}, which is not installed: pip install "guideway[{extra}]"\n'
        assert done.stderr.endswith(f"ModelError: {message}")


def test_commands_without_a_model_need_no_torch() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", guideway.__version__)
    assert result(COMMAND, "--version", without=()) == f"guideway {guideway.__version__}\n"
    assert "explain" in result(COMMAND, "--help", without=("torch",))
    assert "'1900'" in result(COMMAND, "explain", "/(19|20)[0-9]{2}/", without=("torch",))
    done = run(COMMAND, "generate", "Hello", without=("torch",))
    assert done.returncode == 3
    assert 'pip install "guideway[torch]"' in done.stderr


def test_the_table_of_extras_is_that_of_the_installation() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra, modules in EXTRAS.items():
        listed = [re.split(r"[<>=\[]", line)[0] for line in project["optional-dependencies"][extra]]
        named = [MODULES.get(name, name) for name in listed if name != "guideway"]
        assert named == [*modules]
