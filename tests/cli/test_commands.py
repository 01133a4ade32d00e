"""The commands on a fake model: what goes to which stream, and which status they leave."""

import gc
import io
import json
import math
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

import guideway as gw
from guideway.cli import console, models
from guideway.cli.main import run
from guideway.cli.models import healed
from guideway.models.fake import FakeModel
from guideway.vocabulary.cache import cache_folder
from small_models import KINDS
from small_tokenizers import byte_level

Captured: TypeAlias = pytest.CaptureFixture[str]
Patch: TypeAlias = pytest.MonkeyPatch
Shell: TypeAlias = Callable[..., Any]


@pytest.fixture
def shell(capsys: Captured) -> Shell:
    """Run `guideway arguments`, which leaves with a status; what it prints."""

    def ran(*arguments: str, leaves: int = 0) -> Any:
        assert status(*arguments) == leaves
        return capsys.readouterr()

    return ran


def status(*arguments: str) -> int:
    """The exit status of `guideway arguments`."""
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    return int(left.value.code or 0)


COMMANDS = ["extract", "generate", "choose", "explain", "grammars", "memory", "warmup"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_the_exit_statuses(command: str, shell: Shell) -> None:
    shown = shell(command, "--help").out
    assert f"guideway {command}" in shown
    assert "130" in shown


def test_the_version_and_shipped_grammars_are_printed(shell: Shell) -> None:
    assert shell("--version").out.startswith("guideway 0.")
    listed = shell("grammars").out.splitlines()
    assert "semver           A version by Semantic Versioning 2.0.0" in listed
    assert len(json.loads(shell("grammars", "--json").out)) == len(listed)
    text = shell("grammars", "semver").out
    assert text.startswith("# A version by Semantic Versioning")
    one = json.loads(shell("grammars", "semver", "--json").out)
    assert one["text"] == text
    assert "1.0.0" in one["accepted"]
    assert "did you mean 'semver'?" in shell("grammars", "semvr", leaves=1).err


@pytest.mark.usefixtures("fake")
def test_explain_prints_every_stage(shell: Shell) -> None:
    shown = shell("explain", "/(19|20)[0-9]{2}/").out
    for said in (
        "tree\n", "core expression\n", "automaton   6 states, 6 arcs", "example     '1900'",
        "first mask  2 of 257 tokens: '1' '2'", "shortest    4 bytes, 4 tokens",
    ):  # fmt: skip
        assert said in shown
    # A nested language has no last state.
    shown = shell("explain", "{}", "--lines", "3").out
    assert "more than 2000 states" in shown
    assert "more lines (--lines" in shown
    assert "1 of 257 tokens: 'a'" in shell("explain", "/a/", "--model", "anything").out


@pytest.mark.parametrize(("text", "last", "rejected"), [
    ("1904", "the text may end", None),
    ("19x4", "lexeme", "x4"),
    ("19045", "the text may end", "5"),
])  # fmt: skip
def test_explain_shows_the_states_along_a_text(
    text: str, last: str, rejected: str | None, shell: Shell
) -> None:
    explained = json.loads(shell("explain", "/(19|20)[0-9]{2}/", "--text", text, "--json").out)
    assert explained["rejected"] == rejected
    taken = [step["token"] for step in explained["steps"]]
    assert "".join(taken[:-1]) + (rejected or "") == text
    assert taken[-1] is None
    assert explained["steps"][0]["allowed"] == 2
    assert [line.partition(":")[0] for line in explained["steps"][-1]["state"]] == [last]
    said = "no more text" if rejected is None else f"rejects {rejected!r}"
    assert said in shell("explain", "/(19|20)[0-9]{2}/", "--text", text).out


def test_explain_lists_each_keyword_and_how_it_is_enforced(shell: Shell) -> None:
    schema = '{"type": "string", "titel": 1, "anyOf": [{"minLength": 1}]}'
    shown = shell("explain", schema).out
    assert shown.startswith("enforced\n  /type               exact       only values of these")
    assert "  /titel              annotation  not a keyword of any draft" in shown
    listed = json.loads(shell("explain", schema, "--json").out)["enforced"]
    assert [one["place"] for one in listed] == ["/type", "/titel", "/anyOf", "/anyOf/0/minLength"]


@pytest.mark.parametrize(("arguments", "left", "said"), [
    (["explain", "nonsense"], 2, "is not a source"),
    (["explain", '{"items": {"$ref": "http://x/y"}}'], 1, "(at /items/$ref)"),
    (["extract", "missing.txt", "--schema", "datetime:date"], 2, "no file"),
    (["extract", "two words"], 2, "--schema"),
    (["warmup", "--model", "./nowhere.gguf"], 3, "ModelError"),
])  # fmt: skip
def test_what_is_wrong_goes_to_stderr_without_a_trace(
    arguments: list[str], left: int, said: str, shell: Shell
) -> None:
    shown = shell(*arguments, leaves=left)
    assert shown.out == ""
    assert said in shown.err
    assert "Traceback" not in shown.err


VOCABULARY = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})
MODULE = """
from pydantic import BaseModel, field_validator

class Point(BaseModel):
    x: bool
    y: bool

class Never(Point):
    @field_validator("x")
    @classmethod
    def refuse(cls, x: bool) -> bool:
        raise ValueError("never good")
"""


@pytest.fixture
def fake(monkeypatch: Patch) -> gw.Model:
    """A model of noise, which every command loads instead of a real one."""
    model = gw.Model(FakeModel.random(VOCABULARY))
    monkeypatch.setattr(gw, "load", lambda name: model)
    return model


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A file with types."""
    path = tmp_path / "points.py"
    path.write_text(MODULE, encoding="utf-8")
    return path


@pytest.mark.usefixtures("fake")
def test_extract_prints_the_object_and_nothing_else(module: Path, shell: Shell) -> None:
    shown = shell("extract", "some words", "--schema", f"{module}:Point")
    assert set(json.loads(shown.out)) == {"x", "y"}
    assert shown.err == ""
    shown = shell("extract", "some words", "--schema", f"{module}:Never", leaves=4)
    assert set(json.loads(shown.out)) == {"x", "y"}
    assert "never good" in shown.err  # says a validator


@pytest.mark.usefixtures("fake")
def test_extract_reads_files_and_standard_input(
    module: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(models, "answer", lambda model, prompt, *rest: asked.append(prompt))
    monkeypatch.setattr(models, "show", lambda result, **how: None)
    monkeypatch.setattr("sys.stdin", io.StringIO("from outside"))
    (tmp_path / "note.txt").write_text("from a file", encoding="utf-8")
    for text in ("-", str(tmp_path / "note.txt"), "from the command line"):
        assert status("extract", text, "--schema", f"{module}:Point") == 0
    assert [prompt.splitlines()[-1] for prompt in asked] == [
        "Text: from outside",
        "Text: from a file",
        "Text: from the command line",
    ]


@pytest.mark.usefixtures("fake")
def test_json_holds_the_value_the_text_and_what_it_cost(module: Path, shell: Shell) -> None:
    printed = shell("extract", "some words", "-s", f"{module}:Point", "--json", "--seed", "1").out
    record = json.loads(printed)
    assert record["value"] == json.loads(record["text"])
    assert record["finish_reason"] == "stop"
    assert record["error"] is None
    assert record["stats"]["tokens_per_second"] > 0
    assert len(record["tokens"]) == record["stats"]["completion_tokens"]
    assert (record["tool_calls"], record["shortened"], record["seed"]) == ([], False, 1)


def test_a_call_of_a_tool_is_json(tmp_path: Path, fake: gw.Model, shell: Shell) -> None:
    path = tmp_path / "weather.py"
    path.write_text(
        "import guideway as gw\n\ndef weather(rain: bool) -> None: ...\n\n"
        "TOOLS = gw.tools([weather], format='hermes', choice='required', parallel=False)\n"
    )
    record = json.loads(shell("generate", "x", "-s", f"{path}:TOOLS", "--json", "-n", "200").out)
    (call,) = record["tool_calls"]
    assert call["name"] == "weather"
    assert record["value"] == record["tool_calls"]


@pytest.mark.usefixtures("fake")
def test_a_shortened_text_is_said_on_standard_error(shell: Shell) -> None:
    for more in ([], ["--json"]):
        shown = shell("generate", "x", "-s", "/[a-z]{3,900}!/", "-n", "5", *more)
        assert "more than --max-new-tokens allows (this text has 5 tokens" in shown.err
    assert shell("generate", "x", "-s", "/a{3}/", "-n", "5").err == ""


def test_mistakes_are_found_before_the_model_is_loaded(monkeypatch: Patch, shell: Shell) -> None:
    monkeypatch.setattr(gw, "load", lambda name: pytest.fail("it is loaded"))
    for arguments, said in (
        (["--source", "/(/"], "SourceError"),
        (["--source", r"/(a)?\1/"], "UnsupportedError"),
        (["--top-p", "3"], "top_p"),
        (["--watermark-key", "k", "--watermark-scheme", "right"], "scheme is 'right'"),
    ):
        assert said in shell("generate", "x", *arguments, leaves=1).err
    assert "--watermark-key" in shell("generate", "x", "--watermark-gamma", "0.5", leaves=2).err
    assert status("choose", "x", "yes", "yes") == 1
    assert status("extract", "two words", "--schema", '{"type": "intger"}') == 1


@pytest.mark.usefixtures("fake")
def test_a_special_token_is_looked_up_in_the_vocabulary_of_the_model(
    tmp_path: Path, shell: Shell
) -> None:
    path = tmp_path / "named.py"
    path.write_text("import guideway as gw\nONE = gw.special('<x>') + gw.Regex('a')\n")
    models.check(gw.special("<x>") + "a", {})
    printed = shell("generate", "x", "--source", f"{path}:ONE", leaves=1).err
    assert "the vocabulary has no token '<x>'" in printed


def test_a_watermark_is_found_again_with_its_key(monkeypatch: Patch, shell: Shell) -> None:
    letters = gw.Vocabulary([bytes([n]) for n in range(97, 123)] + [b"<end>"], eos_ids={26})
    flat = FakeModel(letters, lambda prefix: [0.0] * 26 + [-9.0])
    monkeypatch.setattr(gw, "load", lambda name: gw.Model(flat))
    mark = ["--watermark-key", "k", "--watermark-gamma", "0.5", "--watermark-delta", "3"]
    text = shell("generate", "once", "-t", "1", "--seed", "1", "-n", "150", *mark).out
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert json.loads(shell("detect", "-", "--key", "k", "--gamma", "0.5", "--json").out)["z"] > 4


LINES = [
    '"one"',
    '{"prompt": "two", "id": {"n": 2}}',
    "",
    "{",
    '{"prompt": "three", "temperature": 1}',
    '{"prompt": 4}',
    "[]",
    '{"messages": [{"role": "user", "content": "five"}], "id": 5}',
    '{"id": 6}',
    '{"messages": [1]}',
]
WRONG = {
    2: "the line is not JSON",
    3: "got prompt, temperature",
    4: "prompt must be a string",
    5: "got no object",
    6: "chat template",  # of this model, which has none
    7: "got none",
    8: "messages must be a list of messages",
}


@pytest.mark.usefixtures("fake")
def test_a_line_of_json_gives_a_line_of_json(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(LINES), encoding="utf-8")
    command = ["generate", str(path), "--jsonl", "-s", "/[a-z]{3}/", "--plain"]
    shown = shell(*command, leaves=4)
    results = [json.loads(line) for line in shown.out.splitlines()]
    assert [result["row"] for result in results] == list(range(9))
    assert [result["id"] for result in results] == [None, {"n": 2}, *[None] * 4, 5, 6, None]
    for row, result in enumerate(results):
        if row in WRONG:
            assert WRONG[row] in result["error"]
            assert (result["text"], result["finish_reason"]) == ("", "error")
        else:
            assert result["error"] is None
            assert re.fullmatch("[a-z]{3}", result["text"])
    assert shown.err == "7 of 9 rows have an error\n"
    printed = shell(*command, "--batch-size", "1", leaves=4).out
    texts = [json.loads(line)["text"] for line in printed.splitlines()]
    assert texts == [result["text"] for result in results]


@pytest.mark.usefixtures("fake")
def test_texts_of_many_lines_are_extracted(module: Path, monkeypatch: Patch, shell: Shell) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('"a"\n{"text": "b", "id": 1}\n'))
    shown = shell("extract", "-", "--jsonl", "-s", f"{module}:Never", leaves=4)
    for result in map(json.loads, shown.out.splitlines()):
        assert set(json.loads(result["text"])) == {"x", "y"}
        assert "never good" in result["error"]
    assert "2 of 2 rows have an error" in shown.err


@pytest.mark.usefixtures("fake")
def test_many_shortened_texts_are_counted(monkeypatch: Patch, shell: Shell) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('"a"\n"b"\n'))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)  # with a bar
    shown = shell("generate", "-", "--jsonl", "-s", "/[a-z]{3,900}!/", "-n", "5")
    count = sum(json.loads(line)["shortened"] for line in shown.out.splitlines())
    assert count > 0
    assert f"--max-new-tokens allows in {count} of 2 texts" in shown.err
    assert "2/2" in shown.err


def interrupting(monkeypatch: Patch, tokens: int, prompts: str) -> None:
    """Load a model that writes z, and has Ctrl-C after so many tokens of prompts that begin so."""

    def row(prefix: tuple[int, ...]) -> list[float]:
        if chr(prefix[0]) in prompts and len(prefix) > tokens:
            raise KeyboardInterrupt
        return [float(i == ord("z")) for i in range(257)]

    monkeypatch.setattr(gw, "load", lambda name: gw.Model(FakeModel(VOCABULARY, row)))


def test_ctrl_c_in_the_middle_of_many_lines_leaves_the_finished_ones(
    monkeypatch: Patch, shell: Shell
) -> None:
    interrupting(monkeypatch, 3, "c")
    command = ["generate", "-", "--jsonl", "-s", "/z{9}/", "--plain"]
    for size, finished in (("1", 2), ("2", 2), ("4", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO('"a"\n"b"\n"c"\n"d"\n'))
        shown = shell(*command, "--batch-size", size, leaves=130)
        assert [json.loads(line)["text"] for line in shown.out.splitlines()] == ["z" * 9] * finished
        assert f"interrupted after {finished} of 4 rows" in shown.err


def test_an_interrupted_text_is_printed_and_leaves_with_130(
    monkeypatch: Patch, shell: Shell
) -> None:
    interrupting(monkeypatch, 6, "a")
    for more in ([], ["--json"]):
        shown = shell("generate", "abcd", "--plain", *more, leaves=130)
        assert "zzz" in shown.out
        assert "interrupted" in shown.err


def test_bars_and_spinners_are_for_terminals_only(monkeypatch: Patch, capsys: Captured) -> None:
    with console.busy("working"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with console.busy("working"):
        pass
    capsys.readouterr()
    console.print_json({"a": math.nan, "b": -math.inf, "c": "ä"})  # no number is null
    assert capsys.readouterr().out == '{"a":null,"b":null,"c":"ä"}\n'


def test_a_warning_is_one_line_without_a_place(monkeypatch: Patch, shell: Shell) -> None:
    def load(name: str) -> gw.Model:
        warnings.warn("this is slow", gw.GuidewayWarning, stacklevel=1)
        return gw.Model(FakeModel.random(VOCABULARY))

    monkeypatch.setattr(gw, "load", load)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        printed = shell("generate", "x", "-s", "/a/").err
    assert printed == "warning: this is slow\n"


def test_the_collector_of_garbage_goes_on_after_a_model_is_loaded(fake: gw.Model) -> None:
    assert models.open_model("any") is fake
    assert gc.isenabled()
    gc.disable()
    try:
        models.open_model("any")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.usefixtures("fake")
def test_generate_holds_the_text_to_its_source(shell: Shell, monkeypatch: Patch) -> None:
    printed = shell("generate", "a year:", "--source", "/17[0-9]{2}/", "--temperature", "1").out
    assert re.fullmatch(r"17[0-9]{2}\n", printed)
    monkeypatch.setattr("sys.stdin", io.StringIO("anything"))  # free text with its limits
    assert len(shell("generate", "-", "--max-new-tokens", "3", "--plain", "--stop", "x").out) <= 4


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("how", [
    ["--best-of", "3", "--best-by", "majority", "--seed", "1"],
    ["--exactness", "rejection", "--seed", "1"],
])  # fmt: skip
def test_searches_are_options_too(how: list[str], shell: Shell) -> None:
    shown = json.loads(shell("generate", "a year:", "-s", "/17[0-9]{2}/", "--json", *how).out)
    assert re.fullmatch("17[0-9]{2}", shown["value"])
    assert (shown["score"] is None) == ("--exactness" in how)


@pytest.mark.usefixtures("fake")
def test_a_prompt_is_healed_where_that_is_asked_for(shell: Shell, monkeypatch) -> None:
    vocabulary = gw.Vocabulary([b":", b"://", b"x", b"<end>"], eos_ids={3})
    model = gw.Model(FakeModel(vocabulary, lambda prefix: [1.0, 9.0, 0.0, 0.0]))
    monkeypatch.setattr(gw, "load", lambda name: model)
    for options, written in (([], "://\n"), (["--heal"], "//\n")):
        assert shell("generate", "x:", "--plain", "-n", "1", *options).out == written
    assert healed([], heal=False) == {}
    monkeypatch.setattr(models, "as_prompt", lambda *given: [])
    assert "--plain" in shell("extract", "x x", "--schema", "/x/", "--heal", leaves=2).err


@pytest.mark.usefixtures("fake")
def test_choose_prints_the_likeliest_first(shell: Shell) -> None:
    lines = shell("choose", "Well?", "yes", "no", "perhaps").out.splitlines()
    chances = [float(line.split()[0]) for line in lines]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1, abs=1e-3)
    assert set(json.loads(shell("choose", "Well?", "yes", "no", "--json").out)) == {"yes", "no"}


@pytest.mark.usefixtures("fake")
def test_warmup_without_a_model_is_about_constraints_or_a_tokenizer(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell("warmup", "--constraints-only").out.startswith("the constraint engine is ready (")
    path = tmp_path / "tokenizer.json"
    path.write_bytes(byte_level())
    other = tmp_path / "other.json"
    other.write_bytes(byte_level())
    printed = shell("warmup", "--tokenizer", str(path), "--tokenizer", str(other)).out
    assert printed.startswith(f"{path}, {other} are ready (")
    assert "none.json" in shell("warmup", "--tokenizer", str(tmp_path / "none.json"), leaves=3).err


READ_ONLY = """
import sys
from pathlib import Path

import guideway as gw

package = Path(gw.__file__).parent


def refuse(event, arguments):
    # Whatever opens a file of the installation for writing, or makes or renames one there.
    if event in {"open", "os.mkdir", "os.rename", "os.remove"}:
        writes = event != "open" or any(mode in str(arguments[1]) for mode in "wax+")
        if writes and str(arguments[0]).startswith(str(package)):
            raise PermissionError(f"{event} {arguments}")


sys.addaudithook(refuse)
from guideway.cli.main import run

run(sys.argv[1:])
"""


def warmed_up(tmp_path: Path, cache: Path) -> None:
    """`guideway warmup` with this cache folder, where the installation cannot be written."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(byte_level())
    environment = {**os.environ, "GUIDEWAY_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", READ_ONLY, "warmup", "--tokenizer", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path} is ready (")


@pytest.mark.slow  # all kernels are compiled: half a minute
def test_warmup_works_where_neither_the_installation_nor_a_cache_can_be_written(
    tmp_path: Path,
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    warmed_up(tmp_path, blocked)


def test_warmup_works_where_of_the_cache_only_kernels_can_be_written(tmp_path: Path) -> None:
    # They are compiled in memory where they cannot be: tests/automaton/jit/test_cache.py.
    kernels = cache_folder("kernels")
    kernels.mkdir(parents=True, exist_ok=True)
    (tmp_path / "kernels").symlink_to(kernels)
    for blocked in ("vocabularies", "models"):
        (tmp_path / blocked).write_text("no folder")
    warmed_up(tmp_path, tmp_path)


def test_warmup_says_that_the_model_is_ready(shell: Shell) -> None:
    assert "smollm2-135m is ready" in shell("warmup").out


def test_a_model_with_a_chat_template_is_asked_in_messages() -> None:
    class Chatty:
        tokenizer = SimpleNamespace(chat_template="…")

    assert models.as_prompt(Chatty, "a", None) == [{"role": "user", "content": "a"}]
    assert models.as_prompt(Chatty, "a", "be brief")[0] == {"role": "system", "content": "be brief"}
    assert models.as_prompt(gw.Model(FakeModel.random(VOCABULARY)), "a", "b") == "b\n\na"


def test_help_needs_neither_numpy_nor_torch() -> None:
    code = (
        "import sys\nfrom guideway.cli.main import app\n"
        "sys.exit(bool({'numpy', 'torch', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_standard_input_that_is_no_text_is_a_usage_error(
    errors: str, monkeypatch: Patch, shell: Shell
) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8", errors=errors)
    monkeypatch.setattr("sys.stdin", given)
    assert "standard input" in shell("generate", "-", leaves=2).err


def test_memory_prints_what_a_model_needs_and_what_fits(tmp_path: Path, shell: Shell) -> None:
    KINDS["llama"](2).save_pretrained(tmp_path)
    need = gw.memory(tmp_path, batch=2, context=50)
    assert shell("memory", str(tmp_path), "--batch", "2", "--context", "50").out == f"{need}\n"
    arguments = ("--dtype", "bf16", "--card", "24 GiB", "--json")
    told = json.loads(shell("memory", str(tmp_path), *arguments).out)
    assert told["context"] == 64
    assert told["total"] == gw.memory(tmp_path, dtype="bf16").total
    assert "on 1.0 kB: nothing fits" in shell("memory", str(tmp_path), "--card", "1kB").out
    printed = shell("memory", str(tmp_path), "--card", "much", leaves=2).err
    assert "--card must be a size such as 24GB" in printed
    assert "ModelError" in shell("memory", str(tmp_path / "none"), leaves=3).err


def test_bench_runs_the_benchmarks_of_a_checkout(
    shell: Shell, monkeypatch: Patch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert "--documents" in shell("bench", "generation", "--help").out
    monkeypatch.setattr("guideway.cli.tools.ROOT", tmp_path)
    assert "pip install -e" in shell("bench", "generation", leaves=1).err
