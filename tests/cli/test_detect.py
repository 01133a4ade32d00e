"""`guideway detect` on the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guideway.api.watermark import Watermark
from guideway.cli.main import app
from real_tokenizers import tokenizer_folder

TEXT = "A lighthouse is a tower. Its light is seen from far away, and nobody knows who lit it."


def run(*arguments: str, **settings: object) -> str:
    found = CliRunner().invoke(app, ["detect", *arguments], **settings)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stdout


def test_a_text_a_file_and_standard_input_are_read_alike(tmp_path: Path) -> None:
    folder = str(tokenizer_folder("smollm2"))
    settings = ["--tokenizer", folder, "--gamma", "0.5"]
    file = tmp_path / "text.txt"
    file.write_text(TEXT + "\n")
    shown = run(TEXT, "--key", "k", *settings)
    assert shown == run(str(file), "-k", "k", *settings)
    assert shown == run("-", *settings, input=TEXT, env={"GUIDEWAY_WATERMARK_KEY": "k"})
    found = Watermark(key="k", gamma=0.5).detect(TEXT, folder)
    assert shown.startswith(f"z         {found.z:.2f}\n")
    assert "clearest  tokens" in shown
    printed = json.loads(run(TEXT, "--key", "k", "--json", *settings))
    assert printed["z"] == found.z
    assert printed["window"]["stop"] == found.window.stop


def test_a_source_is_replayed_and_a_text_outside_it_refused() -> None:
    folder = str(tokenizer_folder("smollm2"))
    settings = ["-k", "k", "--tokenizer", folder, "--source", "/(yes|no)( (yes|no))*/", "--json"]
    found = json.loads(run("yes no no", *settings, "--context", "2"))
    assert found["exempt"] > 0
    plain = json.loads(run("yes no no", *settings, "--plain"))
    assert plain["tokens"] == found["tokens"]
    outside = CliRunner().invoke(app, ["detect", "yes or no", *settings])
    assert "not in the language of the constraint" in str(outside.exception)


def test_a_scheme_has_settings_of_its_own() -> None:
    folder = str(tokenizer_folder("smollm2"))
    settings = ["-k", "k", "--tokenizer", folder, "--json"]
    found = json.loads(run(TEXT, *settings, "--scheme", "synthid", "--depth", "20"))
    assert found["p"] == Watermark(key="k", scheme="synthid", depth=20).detect(TEXT, folder).p


@pytest.mark.model
def test_entropies_of_the_model_weigh_tokens_where_that_is_asked_for() -> None:
    assert "weighted  z" in run(TEXT, "-k", "k", "--weighted", "--prompt", "What is it? ")
