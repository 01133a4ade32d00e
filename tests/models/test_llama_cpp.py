"""llama.cpp beside transformers on the same file: tokens, logits, texts; and what it refuses.

What needs llama-cpp-python runs in an environment of its own: tests/engines/run.py llama-cpp.
"""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import ref

import pytest
import torch

import guideway as gw
import small_gguf
from guideway.errors import LimitError, ModelError, SourceError, UnsupportedError
from guideway.extras import installed
from guideway.models import llama_cpp as backend
from guideway.models.builtin import NAME, convert
from guideway.models.llama_cpp import LlamaCppModel
from guideway.models.llama_cpp_tokenizer import LlamaCppTokenizer
from guideway.models.load import load
from guideway.models.protocol import CroppingModel, LanguageModel
from small_models import with_llama_cpp

MESSAGES = [{"role": "user", "content": "Who is there?"}]
TEXTS = ["the inner thing", "  3 \n\t€ 12", '{"a": [1, 2]}', "", "naïve", "<|im_end|>"]
FIELDS = {  # a wrong name of ctypes is no error: it would be a new attribute
    "llama_context_params": (
        *("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_threads", "n_threads_batch"),
        *("kv_unified", "type_k", "type_v", "flash_attn_type"),
    ),
    "llama_model_params": ("n_gpu_layers",),
    "llama_batch": ("n_tokens", "token", "embd", "pos", "n_seq_id", "seq_id", "logits"),
}


class Models:
    """Two files by both backends, as language models and as `gw.Model`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small.gguf"
        self.theirs, self.ours = self.made(self.path, 0)
        self.other, self.ours_other = self.made(folder / "other.gguf", 1)
        self.both = [gw.Model(each, each.tokenizer) for each in (self.theirs, self.ours)]

    def made(self, path: Path, seed: int) -> tuple[LlamaCppModel, Any]:
        small_gguf.write(path, seed)
        converted = path.with_suffix("")
        converted.mkdir()
        convert(path, converted, lambda share: None)
        return LlamaCppModel(path, exact=True), load(converted, device="cpu")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("gguf"))


def conforms(model: LlamaCppModel) -> CroppingModel[Any]:
    """Type checkers read this."""
    return model


@pytest.mark.parametrize(
    ("source", "more", "message"),
    [
        ("model.gguf", {"backend": "llama_cpp"}, "backend is .* did you mean .llama.cpp"),
        ("model.gguf", {"dtype": "float16"}, 'dtype is not for backend="llama.cpp"'),
        ("model.gguf", {"tokenizer": "gpt2"}, "tokenizer is not for backend"),
        ("gpt2", {}, r"runs \.gguf files"),
        (SimpleNamespace(), {}, r"runs \.gguf files"),
    ],
)
def test_what_is_refused(source: Any, more: dict[str, Any], message: str):
    with pytest.raises(ModelError, match=message):
        gw.load(source, **{"backend": "llama.cpp", **more})


@pytest.mark.skipif(installed("llama_cpp"), reason="llama-cpp-python is here")
def test_the_extra_is_named(tmp_path: Path):
    path = small_gguf.write(tmp_path / "small.gguf")
    with pytest.raises(ModelError, match=r'pip install "guideway\[llama-cpp\]"'):
        gw.load(path, backend="llama.cpp")


@with_llama_cpp
def test_fields_that_are_set():
    library = import_module("llama_cpp")
    for name, fields in FIELDS.items():
        found = [field for field, _ in getattr(library, name)._fields_]
        assert {*fields} <= {*found}
        assert name != "llama_batch" or found == [*fields]


@with_llama_cpp
def test_tokens_are_those_of_the_converted_tokenizer(models: Models):
    theirs, ours = models.theirs, models.ours
    assert isinstance(theirs, LanguageModel)
    assert isinstance(theirs, CroppingModel)
    assert theirs.vocabulary.tokens == ours.vocabulary.tokens
    assert theirs.vocabulary.special == ours.vocabulary.special
    assert theirs.vocabulary == ours.vocabulary
    assert ours.vocabulary.eos_ids == {2}
    assert theirs.context == ours.context == small_gguf.CONTEXT
    for text in TEXTS:
        ids = theirs.tokenizer.encode(text)
        assert ids == ours.tokenizer.encode(text)
        for skip in (False, True):
            assert theirs.tokenizer.decode(ids, skip) == ours.tokenizer.decode(ids, skip)
    for tools in (None, [{"type": "function", "function": {"name": "f"}}]):
        more = {"tools": tools, "tokenize": False, "add_generation_prompt": True}
        one, two = (each.tokenizer.apply_chat_template(MESSAGES, **more) for each in (theirs, ours))
        assert one == two


def near(found: torch.Tensor, expected: torch.Tensor, error: float = 1e-4) -> None:
    torch.testing.assert_close(found, expected, atol=error, rtol=error)


def last(model: Any, rows: list[list[int]]) -> torch.Tensor:
    return torch.cat([model.prefill([row])[1] for row in rows])


@with_llama_cpp
def test_logits_are_those_of_transformers(models: Models):
    prompts = [[5, 6, 7], [*range(20, 60)], [*range(20, 55), 7]]
    cache, logits = models.theirs.prefill(prompts)
    other, expected = models.ours.prefill(prompts)
    near(logits, expected, 1e-3)
    new = torch.tensor([[8, 9], [10, 11], [12, 13]])
    near(models.theirs.extend(cache, new)[1], models.ours.extend(other, new)[1], 1e-3)
    again = pickle.loads(pickle.dumps(models.other))
    near(again.prefill([[5, 6]])[1], models.other.prefill([[5, 6]])[1], 1e-2)


@with_llama_cpp
def test_a_tokenizer_of_sentencepiece(tmp_path: Path):
    made = LlamaCppModel(small_gguf.write(tmp_path / "spm.gguf", spm=True))
    vocabulary, tokenizer = made.vocabulary, made.tokenizer
    assert (vocabulary.lead, vocabulary.eos_ids) == (b" ", {2})
    assert vocabulary.tokens[:4] == (None, None, None, b"\x00")
    assert vocabulary.tokens[small_gguf.SPM.index("▁the")] == b" the"
    for text in ("the thin 12", "  in", "€\n", "x"):
        ids = tokenizer.encode(text)
        assert ids[0] == 1
        spelled = b"".join(vocabulary.tokens[token] or b"" for token in ids)
        assert spelled == b" " + text.encode()
    model, two = gw.Model(made, tokenizer), ["the in", "12"]
    assert model.generate("", gw.Choice(two), max_new_tokens=8).text in two
    assert model.generate("the", gw.Regex(" ?[a-z]{5}"), max_new_tokens=8).text


@with_llama_cpp
def test_a_tokenizer_that_spells_something_else(models: Models, monkeypatch: pytest.MonkeyPatch):
    piece = LlamaCppTokenizer.piece
    wrong = small_gguf.PIECES.index("th")

    def shifted(self: LlamaCppTokenizer, token: int, *, special: bool = False) -> bytes:
        return b"ht" if token == wrong else piece(self, token, special=special)

    monkeypatch.setattr(LlamaCppTokenizer, "piece", shifted)
    with pytest.raises(ModelError, match=r"spell .*, but must spell"):
        models.theirs.tokenizer.vocabulary()


CALLS: dict[str, dict[str, Any]] = {
    "free": {"source": None},
    "list": {"source": list[int]},
    "sampled": {"source": gw.Regex("[a-z]{12}"), "temperature": 0.8, "seed": 3},
    "beams": {"source": gw.Regex("[a-z]{8}"), "num_beams": 3},
    "several": {"source": int, "num_return_sequences": 3, "seed": 1},
    "no drafts": {"source": list[int], "speculate": "off"},
    "lookup": {"source": list[int], "speculate": "lookup"},
}


@with_llama_cpp
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("prompt", ["the then the then", MESSAGES], ids=["text", "chat"])
def test_texts_are_those_of_transformers(models: Models, name: str, prompt: Any):
    settings = dict(CALLS[name])
    source = settings.pop("source")
    theirs, ours = (
        model.generate(prompt, source, max_new_tokens=16, **settings) for model in models.both
    )
    pairs = zip(theirs, ours, strict=True) if isinstance(theirs, list) else [(theirs, ours)]
    for one, other in pairs:
        assert (one.tokens, one.text) == (other.tokens, other.text)


@with_llama_cpp
def test_expressions_choices_and_drafts_over_two_files(models: Models):
    pairs = [(models.theirs, models.other), (models.ours, models.ours_other)]
    pairs.append((models.theirs, models.ours_other))
    made = [gw.Model(a, a.tokenizer) + 0.5 * gw.Model(b, b.tokenizer) for a, b in pairs]
    assert len({model.generate("the", gw.Regex("[a-z]{10}")).text for model in made}) == 1
    theirs, ours = (model.choose("the", ["inner", "other", "in"]) for model in models.both)
    assert theirs == pytest.approx(ours, abs=1e-3)
    target, draft = (gw.Model(each, each.tokenizer) for each in (models.theirs, models.other))
    texts = {
        target.generate("the", gw.Regex("[a-z]{12}"), speculate=each).text
        for each in ("off", draft, target)
    }
    assert len(texts) == 1


@with_llama_cpp
@pytest.mark.parametrize("late", [0, 2])
def test_rows_are_parked_and_come_back(models: Models, monkeypatch: pytest.MonkeyPatch, late: int):
    monkeypatch.setattr(backend, "LATE", late)
    model = models.theirs
    rows = [[5, 6, 7, 8], [9, 10]]
    cache, _ = model.prefill(rows)
    kept = model.crop(model.select(cache, [0]), [2])
    other, _ = model.prefill([[30, 31]])
    for token in range(40, 46):
        other, _ = model.extend(other, torch.tensor([[token]]))
    assert cache[0].sequence.number is None
    assert cache[0].sequence.state is not None
    _, logits = model.extend(cache, torch.tensor([[11], [12]]))
    near(logits[:, 0], last(model, [[*rows[0], 11], [*rows[1], 12]]))
    _, logits = model.extend(kept, torch.tensor([[13]]))
    near(logits[:, 0], last(model, [[5, 6, 13]]))


@with_llama_cpp
def test_a_context_grows(models: Models, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backend, "CELLS", backend.BATCH)
    small = LlamaCppModel(models.path, exact=True)
    rows = [[*range(3, 260)], [*range(3, 150), *range(30, 130)], [*range(50, 250)]]
    cache, logits = small.prefill(rows)
    near(logits, last(models.theirs, rows))
    assert small._context.cells > backend.BATCH
    _, logits = small.extend(cache, torch.tensor([[9], [9], [9]]))
    near(logits[:, 0], last(models.theirs, [[*row, 9] for row in rows]))


@with_llama_cpp
@pytest.mark.parametrize("error", [KeyboardInterrupt, 3], ids=["interrupt", "status"])
def test_rows_outlive_an_error(models: Models, monkeypatch: pytest.MonkeyPatch, error: Any):
    model = models.theirs
    cache, _ = model.prefill([[5, 6, 7], [9, 10]])
    library = SimpleNamespace(**vars(model._library))

    def broken(*_: Any) -> int:
        if isinstance(error, int):
            return error
        raise error

    library.llama_decode = broken
    with monkeypatch.context() as patch:
        patch.setattr(model, "_library", library)
        with pytest.raises(ModelError if isinstance(error, int) else error):
            model.extend(cache, torch.tensor([[1], [2]]))
    _, logits = model.extend(cache, torch.tensor([[11], [12]]))
    near(logits[:, 0], last(model, [[5, 6, 7, 11], [9, 10, 12]]))


@with_llama_cpp
def test_threads_share_a_model(models: Models):
    def tokens(prompt: str) -> Any:
        return models.both[0].generate(prompt, list[int], max_new_tokens=24).tokens

    prompts = ["the inner thing", "the other", "x", "then"]
    expected = [*map(tokens, prompts)]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(tokens, prompts)] == expected


@with_llama_cpp
def test_limits(models: Models):
    with pytest.raises(LimitError, match="at most 256 rows") as caught:
        models.theirs.prefill([[5]] * 257)
    assert (caught.value.limit, caught.value.given, caught.value.needed) == ("rows", 257, 256)
    with pytest.raises(ModelError, match="a prompt is empty"):
        models.theirs.prefill([[5], []])


CALLS_REFUSED: dict[str, tuple[Any, Any]] = {
    "exits": (lambda model: model.exit_at(1), UnsupportedError),
    "adapters": (lambda model: model.adapted({}), (UnsupportedError, ModelError)),
    "canonical": (lambda model: model.generate("a", int, canonical=True), ModelError),
    "contrastive search": (
        lambda model: model.generate("a", penalty_alpha=0.5, top_k=3),
        (UnsupportedError, SourceError),
    ),
    "memory": (gw.memory, UnsupportedError),
}


@with_llama_cpp
@pytest.mark.parametrize("name", CALLS_REFUSED)
def test_unsupported(models: Models, name: str):
    call, error = CALLS_REFUSED[name]
    with pytest.raises(error):
        call(models.both[0])


@with_llama_cpp
def test_files(models: Models, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    model = gw.load(models.path)
    assert isinstance(model.language_model, LlamaCppModel)
    assert model.node.name == "small"
    assert capfd.readouterr() == ("", "")
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(100))
    wrong: list[tuple[Path, dict[str, Any], str]] = [
        (tmp_path / "none.gguf", {}, "there is no file"),
        (bad, {}, r"cannot load .*: .*failed to load model"),
        (bad, {"device": "mps"}, "device is 'mps'"),
    ]
    if not import_module("llama_cpp").llama_supports_gpu_offload():
        wrong.append((bad, {"device": "cuda"}, "on the CPU only"))
    for path, more, message in wrong:
        with pytest.raises(ModelError, match=message):
            LlamaCppModel(path, **more)


@with_llama_cpp
def test_closed_and_freed(models: Models):
    model = LlamaCppModel(models.path)
    cache, _ = model.prefill([[5]])
    model.close()
    model.close()
    for call in (
        lambda: model.prefill([[5]]),
        lambda: model.extend(cache, torch.tensor([[5]])),
        lambda: model.tokenizer.encode("a"),
    ):
        with pytest.raises(ModelError, match="the model is closed"):
            call()
    another = LlamaCppModel(models.path)
    context = ref(another._context)
    del another
    gc.collect()
    assert context() is None


@with_llama_cpp
@pytest.mark.model
def test_the_built_in_model():
    model = gw.load(NAME, backend="llama.cpp")
    found = model.choose("The capital of France is", [" Paris", " Berlin", " Rome"])
    assert max(found, key=found.__getitem__) == " Paris"
    assert len(model.vocabulary.tokens) == 49_152
    assert model.vocabulary.eos_ids == {0, 2}  # <|endoftext|>, <|im_end|>
