"""Blockwise heads: with any heads the text is that without; trained ones are often right.

The oracle is the same call with speculate="off"; a text that repeats shows whether heads learn."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from pydantic import BaseModel

import guideway as gw
from guideway.generation import heads
from guideway.generation.heads import Heads
from guideway.generation.speculation import Speculation
from guideway.models.fake import FakeModel, Prefix
from small_models import LETTERS, model, noise

BYTES = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<end>", b"na", b"name", b'":'], {256})
SONG = b"abcdefghij"
PROMPTS = ["abc", "defghijab", "j"]


class Person(BaseModel):
    name: Literal["Ada", "Grace"]
    born: int


@pytest.fixture(autouse=True, scope="module")
def eager() -> Iterator[None]:
    """Short training, and drafts as long as they can be, whether they pay or not."""

    def longest(self: Speculation, rows: int, odds: list[list[float]], **_: float) -> int:
        return max(map(len, odds))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Speculation, "_length", longest)
        patch.setattr(heads, "STEPS", 150)
        yield


def singing(scale: float = 8.0, seed: int = 0) -> gw.Model:
    """A fake that goes on with a song, with noise; its hidden states are its logits."""

    def logits(prefix: Prefix) -> torch.Tensor:
        noise = torch.Generator().manual_seed(1000 * seed + prefix[-1])
        row = 0.3 * torch.randn(BYTES.width, generator=noise)
        row[SONG[(SONG.find(prefix[-1] % 256) + 1) % len(SONG)]] += scale
        return row

    return gw.Model(FakeModel(BYTES, logits, states=logits), name="singer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("heads") / "song"
    return gw.train_heads(singing(), [SONG.decode() * 9, ("abc", "defghijabcd")], where)


def both(own: gw.Model, source: Any, folder: Any, **settings: Any) -> list[gw.Result[Any]]:
    """The results with heads, after they were compared with those without."""
    arguments = {"max_new_tokens": 40, "num_return_sequences": 1, **settings}
    plain, found = (
        own.generate(PROMPTS, source, speculate=given, **arguments) for given in ("off", folder)
    )
    for one, other in zip(found, plain, strict=True):
        assert (one.tokens, one.text) == (other.tokens, other.text)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4, rel=1e-4)
    return found


@pytest.mark.parametrize("source", [None, Person, gw.Regex(r"(abc|na|efg)*")], ids=str)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 1.0, "seed": 3, "num_return_sequences": 2},
        {"temperature": 1.2, "repetition_penalty": 1.3, "seed": 4, "min_new_tokens": 9},
    ],
    ids=["greedy", "sampled", "penalties"],
)
def test_heads_change_nothing(folder: Path, source: Any, settings: dict[str, Any]):
    found = both(singing(), source, folder, **settings)
    assert sum(each.stats.drafted for each in found) > 0


def test_an_expression_and_a_watermark_draft_with_the_heads_of_the_first_model(folder: Path):
    own = singing() + 0.5 * (singing(seed=1) - singing(seed=2))
    both(own.watermarked(gw.Watermark(key=1)), Person, str(folder), temperature=1.0, seed=2)


def test_trained_heads_are_mostly_right_on_a_song(folder: Path):
    found = both(singing(), None, folder, max_new_tokens=60)
    drafted = sum(each.stats.drafted for each in found)
    assert drafted > 60
    assert sum(each.stats.accepted for each in found) > 0.8 * drafted
    assert all(each.stats.forwards < 30 for each in found)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_transformers_models_give_the_same_in_float32(kind: str, tmp_path: Path):
    own = gw.Model(model(kind), model(kind).tokenizer)
    texts = [each.text for each in own.generate(PROMPTS, max_new_tokens=20, speculate="off")]
    made = gw.train_heads(own, [*zip(PROMPTS, texts, strict=True)], tmp_path / "heads", 2)
    for settings in ({}, {"temperature": 1.0, "seed": 1}):
        for source in (gw.Regex("[a-d]{3,30}"), None):
            found = both(own, source, made, max_new_tokens=20, **settings)
        assert sum(each.stats.drafted for each in found) > 0


def test_what_is_saved_is_read_and_training_is_the_same_twice(folder: Path, tmp_path: Path):
    own = singing().language_model
    made = Heads.load(folder, own)
    made.save(tmp_path / "again")
    states = torch.ones(2, BYTES.width)
    assert torch.equal(Heads.load(tmp_path / "again", own).logits(states), made.logits(states))
    facts = json.loads((folder / "heads.json").read_text("utf-8"))
    assert (facts["heads"], facts["hidden"]) == (3, BYTES.width)
    before = torch.get_rng_state()
    trained = [gw.train_heads(singing(), [SONG.decode() * 2], tmp_path / name, 1) for name in "ab"]
    assert torch.equal(torch.get_rng_state(), before)  # random numbers are left alone
    first, second = ((each / "heads.safetensors").read_bytes() for each in trained)
    assert first == second


def test_folders_of_other_models_and_of_none_are_refused(folder: Path, tmp_path: Path):
    letters = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<end>"], {256})
    other = gw.Model(FakeModel(letters, lambda _: [0.0] * 257, states=lambda _: [0.0] * 257))
    wrong: list[tuple[gw.Model, Any, type[gw.GuidewayError], str]] = [
        (other, folder, gw.ModelError, "were trained for another model"),
        (singing(), tmp_path, gw.ModelError, r"a folder of heads has heads\.json"),
        (singing(), tmp_path / "none", gw.SourceError, "or a folder of heads"),
        (singing(), str(tmp_path / "none"), gw.SourceError, "or a folder of heads"),
        (gw.ngram(["abcabc"], BYTES), folder, gw.UnsupportedError, "NgramModel has no hidden st"),
    ]
    for name in ("heads.json", "heads.safetensors"):
        broken = tmp_path / f"broken {name}"
        broken.mkdir()
        for file in folder.iterdir():
            (broken / file.name).write_bytes(b"{" if file.name == name else file.read_bytes())
        wrong.append((singing(), broken, gw.ModelError, "cannot be read"))
    for own, given, error, message in wrong:
        with pytest.raises(error, match=message):
            own.generate("x", max_new_tokens=2, speculate=given)


def test_heads_fit_the_model_in_either_precision_and_no_other_weights(tmp_path: Path):
    own = copy.copy(model("llama"))
    own.module = copy.deepcopy(own.module)
    made = gw.train_heads(gw.Model(own, own.tokenizer), ["a b c d"], tmp_path, 1)
    own.module.to(torch.bfloat16)
    assert len(Heads.load(made, own).weights) == 1
    with torch.no_grad():
        own.module.get_output_embeddings().weight.mul_(2)
    with pytest.raises(gw.ModelError, match="were trained for another model"):
        Heads.load(made, own)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma3"])
def test_the_output_embedding_is_that_of_the_logits(kind: str):
    own = model(kind)
    shown = list[torch.Tensor]()
    _, logits = own.prefill_varied([[5, 6, 7]], [None], (), shown)
    (states,) = shown
    rows, biases = own.output_rows(torch.arange(own.vocabulary.width))
    assert int((rows @ states[-1] + biases).argmax()) == int(logits[0, 0].argmax())


TRIGRAMS = gw.ngram(["abcabc"], BYTES)
NARROW = gw.Model(FakeModel(LETTERS, noise(1), states=noise(1), context=4))


@pytest.mark.parametrize(
    ("own", "texts", "count", "error", "said"),
    [
        (None, ["the"], 0, gw.SourceError, "heads is 0"),
        (None, ["the"], True, gw.SourceError, "heads is True"),
        (None, "the", 1, gw.SourceError, "from a list of them"),
        (None, ["t"], 1, gw.SourceError, "no text of two tokens"),
        (None, [("a", "b", "c")], 1, gw.SourceError, "it must be a text, or"),
        (None, [(3, "b")], 1, gw.SourceError, "it must be a text, or"),
        (NARROW, ["\1\2\3\4\5"], 1, gw.LimitError, "text 0 has 6 tokens with its prompt"),
        (TRIGRAMS, ["the"], 1, gw.UnsupportedError, "NgramModel has no hidden states"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    own: gw.Model | None, texts: Any, count: Any, error: Any, said: str, tmp_path: Path
):
    with pytest.raises(error, match=said):
        gw.train_heads(own or singing(), texts, tmp_path, count)
