"""The benchmark of grammars: what is measured is what it says, and what is refused is told."""

import json
from pathlib import Path

import pytest

import guideway as gw
from benchmarks import grammar_engines
from benchmarks.commands import run
from benchmarks.grammars_written import lark_reads
from guideway.models.fake import FakeModel
from small_tokenizers import sentencepiece

VOCABULARY = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer that can spell anything, byte by byte."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(sentencepiece())
    return path


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["grammars", *arguments])
    return int(done.value.code or 0)


def test_a_grammar_is_measured_in_guideway(tokenizer, capsys) -> None:
    options = ("--tokenizer", str(tokenizer), "--rounds", "1", "--engine", "guideway")
    assert left(*options, "--grammar", "semver", "--json") == 0
    (figure,) = json.loads(capsys.readouterr().out)
    assert (figure["grammar"], figure["engine"], figure["reads"]) == ("semver", "guideway", "yes")
    assert figure["first"] > 0
    assert figure["step"] > 0
    assert figure["loaded"] > 0
    assert figure["lark"] is None
    assert left(*options, "--grammar", "json", "--json") == 0
    (figure,) = json.loads(capsys.readouterr().out)
    assert min(figure["lark"], figure["loaded"], figure["first"]) > 0


def test_what_an_engine_refuses_or_judges_otherwise_is_told(tokenizer, capsys, monkeypatch) -> None:
    class Text:
        def mask(self) -> None: ...

        def step(self, token: int) -> bool:
            return True

        def ends(self) -> bool:
            return True

    def refusing(one, text):
        assert text.startswith(one.text)
        raise ValueError("a dialect\nof its own")

    engines = {"lax": lambda one, text: Text, "strict": refusing}
    monkeypatch.setattr(grammar_engines, "grammar_engines", lambda *_: engines)
    assert left("--tokenizer", str(tokenizer), "--rounds", "1", "--grammar", "json") == 0
    shown = capsys.readouterr()
    assert [row.split()[:3] for row in shown.out.splitlines()] == [
        ["grammar", "engine", "reads"],
        ["json", "lax", "wrong"],
        ["json", "strict", "refused"],
    ]
    assert "lax, json: wrong: '{\"a\": 01}'" in shown.err
    assert "strict, json: refused: a dialect\n" in shown.err
    assert left("--tokenizer", str(tokenizer), "--engine", "none") == 2


def test_a_model_writes_texts_of_the_grammar(capsys, monkeypatch) -> None:
    model = gw.Model(FakeModel.random(VOCABULARY))
    monkeypatch.setattr(gw, "load", lambda name: model)
    assert left("--texts", "2", "--tokens", "12", "--grammar", "iso_duration", "--json") == 0
    (written,) = json.loads(capsys.readouterr().out)
    assert (written["grammar"], written["texts"], written["valid"]) == ("iso_duration", 2, 2)
    assert 0 < written["tokens"] <= 12
    assert written["per_second"] > 0


def test_lark_judges_what_is_in_lark() -> None:
    reads = lark_reads("yaml")
    assert reads("a:\n  b: 1\n")
    assert not reads("a:\n   b: 1\n  c: 2\n")
    assert not reads("a")
