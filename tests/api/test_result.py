"""What results show of themselves: one line, HTML, counts, log messages."""

import html.parser
import json
import logging
import math
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import guideway as gw
from guideway.generation.row import result as notebook
from guideway.generation.row.request import Stats
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel

VOCABULARY = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
MODEL = gw.Model(FakeModel.random(VOCABULARY))


class Person(BaseModel):
    name: str
    notes: list[str]


class Rude:
    def __repr__(self) -> str:
        raise KeyError("no")


def result(value: Any, text: str = "", error: gw.GuidewayError | None = None) -> Result:
    return Result(value, text, (), (), "error" if error else "stop", error, Stats())


SHOWN: dict[str, Any] = {
    "a value": result(Person(name="Ada", notes=["x" * 500])),
    "an array": result(np.zeros((40, 40))),
    "a text of lines": result("a\nb" * 400),
    "no repr": result(Rude()),
    "an error": result(None, "[" * 500, gw.SourceError("wrong\n" * 90)),
    "a part": gw.Part("a\n" * 90, "a\n" * 900, gw.Regex("[a\n]+")),
    "the last part": gw.Part("", "x" * 900, None, result("x" * 900, "x" * 900)),
    "settings": gw.Sampling(bad_words_ids=[f"word {n}" for n in range(90)], top_k=5, top_p=0.5),
    "a vocabulary": gw.Vocabulary([b"a"] * 500, range(100, 400)),
    "a model": sum(
        [gw.Model(FakeModel.random(VOCABULARY), name=f"m{n}") for n in range(90)], MODEL
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_repr_is_one_line_of_at_most_200_characters(name: str):
    shown = repr(SHOWN[name])
    assert len(shown) <= 200
    assert shown.isprintable()


def test_a_repr_says_what_matters():
    assert repr(MODEL.generate("x", int, max_new_tokens=2, seed=1)).startswith("Result(value=")
    assert repr(result(3)) == "Result(value=3, finish_reason='stop', 0 tokens)"
    failed = result(None, "{", gw.SourceError("wrong"))
    assert "SourceError('wrong')" in repr(failed)
    assert "text='{'" in repr(failed)
    assert repr(gw.Part("a", "ba")) == "Part(delta='a', value='ba')"


def test_the_value_of_a_part_is_read_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    read = list[str]()

    def partial(source: object, text: str) -> str:
        read.append(text)
        return text

    monkeypatch.setattr("guideway.api.running.partial_value", partial)
    parts = [*MODEL.stream("x", gw.JsonSchema({"type": "integer"}), max_new_tokens=3, seed=1)]
    assert not read
    assert parts[0].value == parts[0].text
    assert read == [parts[0].text]


class Read(html.parser.HTMLParser):
    """The visible text, and the data of the view, of HTML whose tags are balanced."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.text, self.scripts, self.open = "", list[str](), list[tuple[str, Any]]()
        self.feed(source)
        self.close()
        assert not self.open
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("guideway-tokens", "pre", "small", "script")
        assert not [value for name, value in attrs if name == "src" or name.startswith("on")]
        self.open.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "script":
            self.scripts.append(data)
        else:
            self.text += data


@pytest.mark.parametrize("trace", [0, 2])
@pytest.mark.parametrize(
    "source", [None, gw.Regex("</script><script>[&\"'<>]{5}<!--</guideway-tokens>")]
)
def test_html_has_the_tokens_escaped_and_what_became_of_them(source: Any, trace: int):
    made = MODEL.generate("x", source, max_new_tokens=60, seed=3, trace=trace)
    read = Read(made._repr_html_())
    assert read.text.startswith(made.text)
    assert f"{len(made.tokens)} tokens" in read.text
    assert read.scripts[1:] == [notebook._code()]
    steps = read.data["steps"]
    assert [step["token"] for step in steps][: len(made.tokens)] == [*made.tokens]
    if trace:
        assert steps == json.loads(json.dumps([step.record for step in made.trace]))
    else:
        assert [step["text"] for step in steps] == [*made.pieces]
        assert [math.log1p(-step["mass_removed"]) for step in steps] == pytest.approx(
            [*made.log_allowed][: len(steps)], abs=1e-6
        )


def test_html_of_an_error_says_it():
    assert "SourceError" in Read(result(None, "", gw.SourceError("<b>"))._repr_html_()).text


def test_pieces_and_allowed_mass_are_those_of_the_tokens():
    made = MODEL.generate("x", gw.Regex("é{2}"), seed=1)
    assert len(made.pieces) == len(made.tokens) == 4
    assert made.log_z == pytest.approx(sum(made.log_allowed))


def test_tokens_are_counted():
    results = MODEL.generate(["four", "x"], gw.Regex("[ab]{3}"), num_return_sequences=2, seed=1)
    assert [r.stats.prompt_tokens for r in results] == [4, 4, 1, 1]
    assert all(r.stats.completion_tokens == len(r.tokens) == 3 for r in results)
    beams = MODEL.generate("four", gw.Regex("[ab]{3}"), num_beams=2)
    assert (beams.stats.prompt_tokens, beams.stats.completion_tokens) == (4, 3)


def test_the_log_says_what_was_done(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, logger="guideway"):
        MODEL.generate(["four", "x"], gw.Regex("[cd]{3}!?"), seed=1)
        _ = [*MODEL.stream("four", max_new_tokens=2)]
    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("compiled Regex in ") for line in said)
    assert any(line.startswith("generated 2 texts in ") for line in said)
    assert "5 prompt tokens" in next(line for line in said if "generated 2" in line)
    assert any(line.startswith("generated 1 texts in ") for line in said)


def test_the_log_is_silent_unless_asked(capsys: pytest.CaptureFixture[str]):
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("guideway").handlers)
    MODEL.generate("x", int, max_new_tokens=2, seed=1)
    assert capsys.readouterr() == ("", "")
