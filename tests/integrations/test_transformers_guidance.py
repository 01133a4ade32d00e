"""Guidance in transformers' loop: what comes out is what our own engine says, token for token, and
what cannot be done is refused by name. Models of random weights over a real tokenizer."""

import pickle
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.generation import logits_process

import guideway as gw
import small_models
from guideway.api.model import Model
from guideway.integrations.transformers import LogitsProcessor
from guideway.models.transformers import TransformersModel
from real_tokenizers import tokenizer_folder
from small_models import CACHE

WORDS = gw.Regex("[a-z]{3,9}( [a-z]{1,4}){0,2}!")


def loaded(kind: str, name: str) -> Model:
    backend = small_models.model(kind)
    return Model(backend, backend.tokenizer, name=name)


BASE, EXPERT, ANTI = loaded("llama", "base"), loaded("qwen2", "expert"), loaded("gpt2", "anti")
TOKENIZER = small_models.tokenizer(tokenizer_folder("gpt2"))
PROMPTS = ["A cat", "The dog of my sister says", "A cat"]
SHARED = gw.ngram(["the cat says meow", "a dog says wow"], BASE)


class Polite:
    """A classifier that counts letters."""

    def log_probs(self, texts: Any) -> Tensor:
        return torch.tensor([-abs(len(text) - 20) / 2.0 for text in texts])


EXPRESSIONS: dict[str, Model] = {
    "proxy tuning": BASE + 1.5 * (EXPERT - ANTI),
    "a nucleus": (BASE + 2 * EXPERT).nucleus(0.8) - ANTI,
    "the generating model second": EXPERT + 0.5 * BASE,
    "guidance against no prompt": 1.5 * BASE - 0.5 * BASE.unprompted(),
    "an early exit": BASE - 0.5 * BASE.exit_at(1),
    "n-grams": BASE + SHARED,
    "GeDi": BASE + gw.gedi(EXPERT, ANTI, alpha=5.0),
    "a classifier": BASE + gw.classifier(Polite(), alpha=9.0, top=20),
    "filters alone": BASE.nucleus(0.5),
}


def inputs(prompts: list[str]) -> dict[str, Tensor]:
    TOKENIZER.pad_token, TOKENIZER.padding_side = TOKENIZER.eos_token, "left"
    return TOKENIZER(prompts, return_tensors="pt", padding=True)


def generate(how: LogitsProcessor, prompts: list[str], **settings: Any) -> list[str]:
    given = inputs(prompts)
    module = BASE.language_model.module
    rows = module.generate(
        **given, logits_processor=[how], pad_token_id=TOKENIZER.pad_token_id,
        **{"max_new_tokens": 8, "do_sample": False, "eos_token_id": ENDS, **settings},
    )  # fmt: skip
    texts = list[str]()
    for row in rows[:, given["input_ids"].shape[1] :].tolist():
        end = next((place for place, token in enumerate(row) if token in ENDS), len(row))
        texts.append(TOKENIZER.decode(row[:end]))
    return texts


ENDS = sorted(BASE.vocabulary.eos_ids)


@cache
def plain() -> list[str]:
    """What the generating model alone says."""
    return [result.text for result in BASE.generate(PROMPTS, WORDS, max_new_tokens=8)]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_greedy_texts_are_those_of_our_own_engine(name: str) -> None:
    guided = EXPRESSIONS[name]
    own = [r.text for r in guided.generate(PROMPTS, WORDS, max_new_tokens=8)]
    if name != "filters alone":  # which the most probable token passes
        assert own != plain()
    held = LogitsProcessor(WORDS, guidance=guided)
    assert generate(held, PROMPTS) == own
    assert generate(held, PROMPTS[1:2]) == own[1:2]  # other rows, and a prompt without padding


def test_beams_and_a_constraint_for_each_prompt_go_with_guidance() -> None:
    guided = EXPRESSIONS["proxy tuning"]
    for sources, more in ((WORDS, {"num_beams": 3}), ([WORDS, None, list[int]], {})):
        own = guided.generate(PROMPTS, sources, max_new_tokens=8, **more)
        said = generate(LogitsProcessor(sources, guidance=guided), PROMPTS, **more)
        assert said == [result.text for result in own]


@pytest.mark.parametrize(
    "settings",
    [
        {"num_beams": 3, "num_return_sequences": 2},
        {"do_sample": True, "num_return_sequences": 2},
        {"do_sample": True, "num_beams": 3},
    ],
)
def test_beams_and_samples_are_guided_row_by_row(settings: dict[str, Any]) -> None:
    guided = EXPRESSIONS["proxy tuning"]
    fresh, torn = LogitsProcessor(WORDS, guidance=guided), Torn(guided)
    torch.manual_seed(0)
    said = generate(fresh, PROMPTS[:2], **settings)
    torch.manual_seed(0)
    assert said == generate(torn, PROMPTS[:2], **settings)  # which reads all anew each time
    assert all(gw.compile(WORDS, BASE.vocabulary).matches(text) for text in said)


class Torn(logits_process.LogitsProcessor):
    """A processor that remembers nothing between two steps."""

    def __init__(self, guided: Model) -> None:
        self.guided = guided

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        return LogitsProcessor(WORDS, guidance=self.guided)(input_ids, scores)


PROMPTED = [
    (gw.cfg(BASE, BASE.prompted("Be rude. "), 1.5), r"another prompt.*prompts=\[…\]"),
    (BASE + gw.classifier(Polite(), alpha=2.0, top=20, prompt=True),
     "a classifier reads the prompt"),
]  # fmt: skip


@pytest.mark.parametrize(("guided", "message"), PROMPTED)
def test_what_reads_a_prompt_of_its_own_needs_to_know_what_was_asked(
    guided: Model, message: str
) -> None:
    own = [r.text for r in guided.generate(PROMPTS, WORDS, max_new_tokens=8)]
    held = LogitsProcessor(WORDS, guidance=guided, prompts=PROMPTS)
    assert generate(held, PROMPTS) == own
    with pytest.raises(gw.UnsupportedError, match=message):
        generate(LogitsProcessor(WORDS, guidance=guided), PROMPTS)
    with pytest.raises(gw.SourceError, match="prompts= has 3 prompts, and generate has 2"):
        generate(held, PROMPTS[:2])
    with pytest.raises(gw.SourceError, match=r"prompts\[0\] does not match"):
        generate(LogitsProcessor(WORDS, guidance=guided, prompts=["A dog"]), ["A cat"])


def test_one_processor_serves_any_calls_also_after_an_exception() -> None:
    guided = EXPRESSIONS["proxy tuning"]
    held = LogitsProcessor(WORDS, guidance=guided)
    first = generate(held, PROMPTS)

    class Stop(logits_process.LogitsProcessor):
        def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
            if input_ids.shape[1] > 8:
                raise KeyError("stopped")
            return scores

    with pytest.raises(KeyError, match="stopped"):
        BASE.language_model.module.generate(
            **inputs(PROMPTS[::-1]), logits_processor=[Stop(), held], max_new_tokens=40
        )
    assert generate(held, PROMPTS) == first
    longer = [PROMPTS[0] + first[0]]
    assert generate(held, longer) == generate(LogitsProcessor(WORDS, guidance=guided), longer)


def test_texts_end_where_generate_stops_although_ends_are_one_event() -> None:
    backend = small_models.model("llama")
    two = Model(Ending(backend), backend.tokenizer, name="two")
    guided = two + 0.5 * Model(Ending(small_models.model("qwen2")), backend.tokenizer)
    held = LogitsProcessor(gw.Choice(["ab"]), guidance=guided)
    rows = backend.module.generate(
        **inputs(["A"]), logits_processor=[held], max_new_tokens=9, eos_token_id=50_256,
        pad_token_id=0,
    )  # fmt: skip
    assert rows[0, -1] == 50_256
    assert rows.shape[1] < 6


class Ending:
    """A model of transformers with one more end id."""

    def __init__(self, inner: TransformersModel) -> None:
        self._inner, self.module = inner, inner.module
        known = inner.vocabulary
        ends = known.eos_ids | {50_256, 1_000}
        self.vocabulary = gw.Vocabulary(known.tokens, ends, width=known.width)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __hash__(self) -> int:
        return id(self)


@pytest.mark.parametrize(("guided", "settings", "message"), [
    ("proxy tuning", {"prompt_lookup_num_tokens": 3},
     "guidance does not work with assisted decoding"),
    ("proxy tuning", {"assistant_model": 1}, "guidance does not work with assisted decoding"),
    ("others", {}, r"not a leaf of the expression \(expert, anti\)"),
    ("own pair", {}, "a model of a GeDi pair"),
])  # fmt: skip
def test_what_cannot_be_guided_is_refused(
    guided: str, settings: dict[str, Any], message: str
) -> None:
    own_pair = EXPERT + gw.gedi(BASE, ANTI)
    expression = {**EXPRESSIONS, "others": EXPERT - 0.5 * ANTI, "own pair": own_pair}[guided]
    if "assistant_model" in settings:
        settings = {"assistant_model": small_models.module("llama", 1)}
    with pytest.raises(gw.UnsupportedError, match=message):
        generate(LogitsProcessor(WORDS, guidance=expression), PROMPTS[:1], **settings)


def test_guidance_needs_the_tokens_of_the_prompts() -> None:
    module, given = BASE.language_model.module, inputs(["A cat says"])
    held = LogitsProcessor(WORDS, guidance=EXPRESSIONS["proxy tuning"])
    embedded = module.get_input_embeddings()(given["input_ids"])
    past = getattr(module(given["input_ids"][:, :1]), CACHE)
    for wrong in (
        {"inputs_embeds": embedded, "attention_mask": given["attention_mask"]},
        {**given, CACHE: past, "input_ids": given["input_ids"][:, 1:]},
    ):
        with pytest.raises(gw.UnsupportedError, match="the tokens of the whole prompt"):
            module.generate(**wrong, logits_processor=[held], max_new_tokens=9, pad_token_id=0)
    with pytest.raises(gw.UnsupportedError, match="only a running generate"):
        LogitsProcessor(WORDS, guidance=EXPRESSIONS["proxy tuning"], prompt_length=1)(
            torch.ones(1, 1, dtype=torch.int64), torch.zeros(1, BASE.vocabulary.width)
        )


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(gw.SourceError, match=r"guidance: Llama.* is not a guideway\.Model"):
        LogitsProcessor(WORDS, guidance=BASE.language_model.module)
    with pytest.raises(gw.SourceError, match="prompts= needs guidance="):
        LogitsProcessor(WORDS, BASE.vocabulary, prompts=["a"])
    with pytest.raises(gw.UnsupportedError, match="because it contains models"):
        pickle.dumps(LogitsProcessor(WORDS, guidance=BASE + EXPERT))
    with pytest.raises(gw.ModelError, match="differs from that of the constraint"):
        LogitsProcessor(WORDS, gw.Vocabulary([bytes([b]) for b in range(256)]), guidance=BASE)


def test_a_model_that_gives_no_numbers_is_our_error() -> None:
    broken = small_models.module("qwen2")
    with torch.no_grad():
        broken.lm_head.weight[:] = float("nan")
    guided = BASE + Model(TransformersModel(broken, TOKENIZER), TOKENIZER)
    with pytest.raises(gw.ModelError, match="NaN or infinite"):
        generate(LogitsProcessor(WORDS, guidance=guided), PROMPTS[:1])
