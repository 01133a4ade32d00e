"""Every setting of transformers' `generate` beside a constraint: texts stay whole, or the setting
is refused by name before the first token."""

import inspect
import math
from functools import cache
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import torch
from pydantic import BaseModel, Field
from tokenizers import Tokenizer, decoders, models
from torch import Tensor
from transformers import GenerationConfig
from transformers.generation import logits_process
from transformers.generation.stopping_criteria import (
    EosTokenCriteria,
    MaxLengthCriteria,
    StoppingCriteria,
)
from transformers.generation.utils import GenerationMixin
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

import guideway as gw
from guideway.integrations.transformers import LogitsProcessor, prefix_allowed_tokens_fn
from guideway.models.fake import FakeModel
from integrations.byte_models import (
    BYTES,
    END,
    LANGUAGE,
    OTHER_END,
    PAD,
    WIDTH,
    WORD,
    bart,
    batch,
    model,
    texts,
    whole,
)


class Steps(logits_process.LogitsProcessor):
    """Counts its calls, and changes nothing."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.count += 1
        return scores


class After(StoppingCriteria):
    """Stops all rows at a length."""

    def __init__(self, length: int = 8) -> None:
        self.length = length

    def __call__(self, input_ids: Tensor, scores: Any, **more: Any) -> Any:
        return torch.full((input_ids.shape[0],), input_ids.shape[1] >= self.length)


@cache
def tokenizer() -> Any:
    """A tokenizer of single characters, which has no part in what is tested."""
    made = Tokenizer(models.BPE({chr(n): n for n in range(128)}, []))
    made.decoder = decoders.Fuse()
    marks = {"pad_token": "\x00", "bos_token": "\x01"}
    return PreTrainedTokenizerFast(
        tokenizer_object=made, clean_up_tokenization_spaces=False, **marks
    )


def own_loop(
    model: Any, input_ids: Tensor, logits_processor: Any, generation_config: Any, **more: Any
) -> Tensor:
    """A greedy loop of the caller's own."""
    while input_ids.shape[1] < generation_config.max_length:
        with torch.no_grad():
            scores = model(input_ids).logits[:, -1].float()
        token = logits_processor(input_ids, scores).argmax(-1)
        input_ids = torch.cat([input_ids, token[:, None]], 1)
        if int(token[0]) in BYTES.eos_ids:
            break
    return input_ids


SAMPLED = {"do_sample": True}
BEAMS = {"num_beams": 3}
DRAFT = {"assistant_model": 3}
LETTERS = list(b"abcdefghij")
NO_TIME = {"max_time": 1e-9}
STRING = {"stop_strings": ["a"]}
STATIC = {"cache_implementation": "static"}
OWN = {"custom_generate": own_loop}
GROUPS = {"num_beams": 4, "num_beam_groups": 2, **OWN}
CONTRASTIVE = {"penalty_alpha": 0.6, "top_k": 4, **OWN}
LOOKUP = {"prompt_lookup_num_tokens": 3}
BIASED = {"watermarking_config": {"bias": 5.0}}
FOUR = {"max_new_tokens": 4}
MTP = "needs a model with heads for several tokens"
WHOLE, REFUSED = None, ""
# For each field: settings, and None where texts come out whole, or a regex for a refusal's message.
FIELDS: dict[str, list[tuple[dict[str, Any], str | None]] | str] = {
    "_from_model_config": "no setting of a call",
    "assistant_confidence_threshold": [({**DRAFT, "assistant_confidence_threshold": 0.9}, WHOLE)],
    "assistant_early_exit": [({"assistant_early_exit": 1}, WHOLE)],
    "assistant_ensemble_weight": [({**DRAFT, "assistant_ensemble_weight": 0.5}, WHOLE),
                                  ({**DRAFT, **SAMPLED, "assistant_ensemble_weight": 0.5}, WHOLE)],
    "assistant_lookbehind": "needs a draft with another tokenizer, which is refused",
    "bad_words_ids": [({"bad_words_ids": [[letter] for letter in LETTERS] + [[END]]}, WHOLE),
                      ({"bad_words_ids": [[97, 98]]},
                       r"bad_words_ids does not.*\[97, 98\].*source - "),
                      ({"bad_words_ids": [[ord("!")]]}, REFUSED)],
    "begin_suppress_tokens": [({"begin_suppress_tokens": LETTERS}, WHOLE),
                              ({"begin_suppress_tokens": list(range(97, 123))},
                               r"another processor, .*: SuppressTokensAtBegin")],
    "bos_token_id": [({"bos_token_id": 97}, WHOLE)],
    "cache_config": [({**STATIC, "cache_config": {}}, WHOLE)],
    "cache_implementation": [(STATIC, WHOLE), ({"cache_implementation": "dynamic"}, WHOLE)],
    "compile_config": [({**STATIC, "compile_config": None}, WHOLE)],
    "constraints": [({"constraints": ["x"], **OWN, **BEAMS}, REFUSED)],
    "continuous_batching_config": "for generate_batch only",
    "decoder_start_token_id": [({"decoder_start_token_id": 97}, WHOLE)],
    "disable_compile": [({"disable_compile": True}, WHOLE)],
    "diversity_penalty": [({**GROUPS, "diversity_penalty": 1.0}, REFUSED)],
    "do_sample": [({**SAMPLED, "temperature": 2.0}, WHOLE)],
    "dola_layers": [({"dola_layers": "low", **OWN}, REFUSED)],
    "early_stopping": [({**BEAMS, "early_stopping": True}, WHOLE)],
    "encoder_no_repeat_ngram_size": [({"encoder_no_repeat_ngram_size": 2}, REFUSED)],
    "encoder_repetition_penalty": [({"encoder_repetition_penalty": 1.5}, WHOLE)],
    "eos_token_id": [({"eos_token_id": END}, WHOLE), ({"eos_token_id": None}, WHOLE),
                     ({"eos_token_id": 97}, REFUSED),
                     ({"eos_token_id": [END, 98]}, r"token 98 \(b'b'\), which is text"),
                     ({"eos_token_id": 263}, r"stops at \[263\].*end with \[256, 257\]")],
    "epsilon_cutoff": [({**SAMPLED, "epsilon_cutoff": 0.3}, WHOLE)],
    "eta_cutoff": [({**SAMPLED, "eta_cutoff": 0.3}, WHOLE)],
    "exponential_decay_length_penalty": [({"exponential_decay_length_penalty": (2, 3.0)}, WHOLE)],
    "force_words_ids": [({"force_words_ids": [[97]], **OWN}, REFUSED)],
    "forced_bos_token_id": [({"forced_bos_token_id": 97}, WHOLE)],  # the prompt is longer
    "forced_eos_token_id": [({"forced_eos_token_id": END, **FOUR}, WHOLE),
                            ({"forced_eos_token_id": [END, 97], **FOUR, **SAMPLED}, WHOLE),
                            ({"forced_eos_token_id": END, **FOUR, **BEAMS}, WHOLE),
                            ({"forced_eos_token_id": 97},
                             r"forced_eos_token_id=\[97\] is not an end id"),
                            ({"forced_eos_token_id": END, "max_new_tokens": 3}, REFUSED)],
    "guidance_scale": [({"guidance_scale": 1.5}, WHOLE)],
    "is_assistant": [({"is_assistant": True}, REFUSED)],
    "length_penalty": [({**BEAMS, "length_penalty": 3.0}, WHOLE)],
    "low_memory": [({"low_memory": True}, WHOLE)],
    "max_cache_len": [({**STATIC, "max_cache_len": 64}, WHOLE)],
    "max_length": [({"max_new_tokens": None, "max_length": 6}, WHOLE),
                   ({"max_new_tokens": None, "max_length": 4}, REFUSED)],
    "max_matching_ngram_size": [({**LOOKUP, "max_matching_ngram_size": 1}, WHOLE)],
    "max_new_tokens": [({"max_new_tokens": 3}, WHOLE), ({"max_new_tokens": 2}, REFUSED)],
    "max_time": [({**NO_TIME, **how}, "max_time does not work.*it cuts texts.*max_new_tokens")
                 for how in ({}, BEAMS, DRAFT)],
    "min_length": [({"min_length": 15}, WHOLE),
                   ({"min_length": 24, "max_new_tokens": 30}, REFUSED)],
    "min_new_tokens": [
        *(({"min_new_tokens": 13, **how}, WHOLE) for how in ({}, SAMPLED, BEAMS, DRAFT)),
        ({"min_new_tokens": 13, "max_new_tokens": 13}, WHOLE),
        ({"min_new_tokens": 22, "max_new_tokens": 30}, REFUSED),
    ],
    "min_p": [({**SAMPLED, "min_p": 0.5}, WHOLE)],
    "no_repeat_ngram_size": [
        ({"no_repeat_ngram_size": 2}, "no_repeat_ngram_size=2 does not.*repetition_penalty")
    ],
    "num_assistant_tokens": [({**DRAFT, "num_assistant_tokens": 2}, WHOLE)],
    "num_assistant_tokens_schedule": [
        ({**DRAFT, "num_assistant_tokens_schedule": "constant"}, WHOLE)
    ],
    "num_beam_groups": [(GROUPS, REFUSED)],
    "num_beams": [(BEAMS, WHOLE), ({**BEAMS, **SAMPLED}, WHOLE)],
    "num_return_sequences": [({**how, "num_return_sequences": 3}, WHOLE)
                             for how in (SAMPLED, BEAMS)],
    "output_attentions": [({"output_attentions": True}, WHOLE)],
    "output_hidden_states": [({"output_hidden_states": True}, WHOLE)],
    "output_logits": [({"output_logits": True}, WHOLE)],
    "output_scores": [({"output_scores": True}, WHOLE)],
    "pad_token_id": [({"pad_token_id": 97}, WHOLE)],
    "penalty_alpha": [
        (CONTRASTIVE, r"penalty_alpha does not.*from the Hub.*guideway\.Model\.generate has")
    ],
    "prefill_chunk_size": [({"prefill_chunk_size": 1}, WHOLE)],
    "prompt_lookup_num_tokens": [(LOOKUP, WHOLE)],
    "remove_invalid_values": [({"remove_invalid_values": True, **SAMPLED}, WHOLE)],
    "renormalize_logits": [({"renormalize_logits": True, **BEAMS}, WHOLE)],
    "repetition_penalty": [({"repetition_penalty": 3.0}, WHOLE)],
    "return_dict_in_generate": [({"return_dict_in_generate": True}, WHOLE)],
    "sequence_bias": [({"sequence_bias": [[[97], 5.0], [[97, 98], -9.0]]}, WHOLE),
                      ({"sequence_bias": [[[each], -math.inf] for each in LETTERS]}, WHOLE),
                      ({"sequence_bias": {(97, 98): -math.inf}}, REFUSED)],
    "speculation_type": MTP,
    "stop_strings": [({**STRING, **how}, "stop_strings does not work.*they cut texts")
                     for how in ({}, BEAMS)],
    "suppress_tokens": [
        *(({"suppress_tokens": LETTERS, **how}, WHOLE) for how in ({}, BEAMS, DRAFT)),
        ({"suppress_tokens": [*LETTERS, PAD, OTHER_END], **SAMPLED}, WHOLE),
        ({"suppress_tokens": [ord("!")]}, REFUSED),
        ({"suppress_tokens": [END, OTHER_END]}, r"bans every end id.*\[256, 257\]"),
    ],
    "target_lookbehind": "needs a draft with another tokenizer, which is refused",
    "temperature": [({**SAMPLED, "temperature": 0.01}, WHOLE)],
    "token_healing": [({"token_healing": True}, "token_healing does not.*heal=True")],
    "top_h": [({**SAMPLED, "top_h": 0.1}, WHOLE)],
    "top_k": [({**SAMPLED, "top_k": 1}, WHOLE)],
    "top_p": [({**SAMPLED, "top_p": 0.1}, WHOLE)],
    "transformers_version": "no setting of a call",
    "typical_p": [({**SAMPLED, "typical_p": 0.1}, WHOLE)],
    "use_cache": [({"use_cache": False}, WHOLE)],
    "use_mtp": MTP,
    "watermarking_config": [(BIASED, WHOLE), ({**BIASED, **SAMPLED}, WHOLE)],
}  # fmt: skip
# And each parameter of `generate` itself.
PARAMETERS: dict[str, list[tuple[dict[str, Any], str | None]] | str] = {
    "assistant_model": [(DRAFT, WHOLE), ({**DRAFT, **SAMPLED}, WHOLE)],
    "custom_generate": [(OWN, WHOLE)],
    "generation_config": [
        ({"generation_config": GenerationConfig(top_k=3, do_sample=True)}, WHOLE),
        ({"generation_config": GenerationConfig(max_time=1e-9)}, REFUSED),
    ],
    "inputs": "the prompt",
    "kwargs": "fields of the configuration, and inputs of the model",
    "logits_processor": "see below: the order matters",
    "negative_prompt_attention_mask": "only with guidance_scale",
    "negative_prompt_ids": [
        ({"guidance_scale": 1.5, "negative_prompt_ids": torch.tensor([[99]])}, WHOLE)
    ],
    "prefix_allowed_tokens_fn": [
        ({"prefix_allowed_tokens_fn": lambda place, ids: list(range(WIDTH))}, REFUSED)
    ],
    "self": "the model",
    "stopping_criteria": [
        *(
            ({"stopping_criteria": [After()], **how}, "criterion After does not.*exception from")
            for how in ({}, BEAMS, DRAFT)
        ),
        *(({"stopping_criteria": [MaxLengthCriteria(6)], **how}, WHOLE) for how in ({}, BEAMS)),
        ({"stopping_criteria": [MaxLengthCriteria(30)], "max_new_tokens": 3}, WHOLE),
        ({"stopping_criteria": [MaxLengthCriteria(4)]}, REFUSED),
        ({"stopping_criteria": [EosTokenCriteria(END)]}, WHOLE),
        ({"stopping_criteria": [EosTokenCriteria(97)]}, REFUSED),
    ],
    "streamer": [({"streamer": SimpleNamespace(put=lambda value: None, end=lambda: None)}, WHOLE)],
    "synced_gpus": [({"synced_gpus": False}, WHOLE)],
}


def test_every_field_of_a_generation_config_is_in_the_table() -> None:
    known = {*FIELDS, "cache_config", "constraints", "_commit_hash"}
    unknown = set(vars(GenerationConfig())) - known
    assert not unknown, f"new in transformers: can {unknown} cut or contradict a constraint?"


def test_every_parameter_of_generate_is_in_the_table() -> None:
    assert set(inspect.signature(GenerationMixin.generate).parameters) == set(PARAMETERS)


def cases() -> list[Any]:
    known = {*vars(GenerationConfig()), *PARAMETERS}
    return [
        pytest.param(settings, refused, id=f"{name}-{number}")
        for name, tried in {**FIELDS, **PARAMETERS}.items()
        if name in known and not isinstance(tried, str)
        for number, (settings, refused) in enumerate(tried)
    ]


def run(settings: dict[str, Any], *, most: int = 16) -> list[bytes]:
    """The texts of a call with these settings."""
    settings = {"do_sample": False, "max_new_tokens": most, **settings}
    if "assistant_model" in settings:
        settings["assistant_model"] = model(settings["assistant_model"])
    if settings.keys() & {"stop_strings", "token_healing"}:
        settings["tokenizer"] = tokenizer()
    if settings["max_new_tokens"] is None:
        del settings["max_new_tokens"]
    torch.manual_seed(1)
    found = model().generate(**batch(b"ab"), **settings)
    return texts(getattr(found, "sequences", found), 2)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("settings", "refused"), cases())
def test_texts_are_whole_or_the_setting_is_refused_before_the_first_token(
    settings: dict[str, Any], refused: str | None
) -> None:
    steps = Steps()
    given = {**settings, "logits_processor": [steps, LogitsProcessor(WORD, BYTES)]}
    if refused is not None:
        with pytest.raises(gw.GuidewayError, match=refused):
            run(given)
        assert steps.count <= 1
        return
    said = run(given)
    assert whole(WORD, said), said


def held(source: Any = WORD, **more: Any) -> dict[str, Any]:
    return {"logits_processor": [LogitsProcessor(source, BYTES)], **more}


def test_a_text_without_a_constraint_may_be_cut() -> None:
    said = run(held(None, stopping_criteria=[After()]))
    assert [len(text) for text in said] == [6]


def test_a_criterion_that_cuts_one_row_of_a_batch_is_refused() -> None:
    given = held([None, WORD], max_new_tokens=9, stopping_criteria=[After()])
    with pytest.raises(gw.UnsupportedError, match="After"):
        model().generate(torch.tensor([[97], [97]]), **given)


# A minimum of tokens.


class Person(BaseModel):
    name: Annotated[str, Field(max_length=12)]
    age: Annotated[int, Field(ge=0, le=120)]


@pytest.mark.parametrize("least", [20, 70])
@pytest.mark.parametrize("more", [{}, SAMPLED, BEAMS, DRAFT, {"prompt_lookup_num_tokens": 3}])
def test_a_minimum_is_reached_where_texts_could_end_before(
    least: int, more: dict[str, Any]
) -> None:
    said = run(held(Person, min_new_tokens=least, **more), most=least + 40)
    assert all(len(text) >= least for text in said)
    assert whole(Person, said)


def test_a_greedy_text_with_a_minimum_is_that_of_our_own_generate() -> None:
    def row(prefix: tuple[int, ...]) -> list[float]:
        with torch.no_grad():
            return model()(torch.tensor([prefix])).logits[0, -1].tolist()

    own = gw.Model(FakeModel(BYTES, row))
    for source, least in ((Person, 60), (WORD, 13), (gw.Regex("a{3}|b{9}|[c-z]{2,7}"), 8)):
        wanted = own.generate("ab", source, min_new_tokens=least, max_new_tokens=90)
        said = run(held(source, min_new_tokens=least), most=90)
        assert said == [wanted.text.encode()]


def test_a_text_that_has_to_end_ends_before_the_minimum() -> None:
    # Which texts are long enough takes too long to find out: the minimum gives way, the text stays.
    source = gw.Choice(["a" * 9, "b"]) | gw.Regex("c[0-9]{0,3}!")
    for letter in (ord("b"), ord("c")):
        given = held(source, min_new_tokens=8, sequence_bias=[[[letter], 90.0]])
        assert run(given) == [b"a" * 9]
    forced = {"bad_words_ids": [[ord("a")]], "min_new_tokens": 5}
    assert run(held(source, **forced))[0].startswith(b"c")
    with pytest.raises(gw.LimitError, match="longest text of the constraint has 5 tokens"):
        run(held(source, bad_words_ids=[[ord("a")]], min_new_tokens=8))


@pytest.mark.parametrize("more", [{}, SAMPLED, BEAMS])
def test_a_minimum_that_is_too_hard_to_plan_gives_way_and_the_text_is_whole(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "guideway.integrations.transformers_texts.longest_path", lambda *given, **more: None
    )
    for least in (5, 9):
        said = run(held(gw.Choice(["ab", "abc"]), min_new_tokens=least, **more))
        assert set(said) <= {b"ab", b"abc"}


def test_a_prefix_function_has_no_minimum_that_a_text_may_miss() -> None:
    allowed = {"prefix_allowed_tokens_fn": prefix_allowed_tokens_fn(WORD, BYTES)}
    assert whole(WORD, run({**allowed, "min_new_tokens": 3}))
    with pytest.raises(gw.UnsupportedError, match="min_new_tokens=4 needs LogitsProcessor"):
        run({**allowed, "min_new_tokens": 4})


# Bans.


@pytest.mark.parametrize("more", [{}, SAMPLED, BEAMS, DRAFT])
def test_banned_tokens_never_come_and_leave_no_dead_end(more: dict[str, Any]) -> None:
    # "ab" begins well and cannot go on without "c": it must not be begun.
    source = gw.Regex("abc|a?d{2,4}|b*e")
    for banned in (b"c", b"ce", b"cad"):
        said = run(held(source, suppress_tokens=list(banned), **more))
        assert not any(set(text) & set(banned) for text in said)
        assert whole(source, said)
    with pytest.raises(gw.UnsatisfiableError):
        run(held(source, suppress_tokens=list(b"cde"), **more))


def test_a_compiled_constraint_cannot_lose_tokens_that_it_uses() -> None:
    compiled = gw.compile(WORD, BYTES)
    assert run(held(compiled, suppress_tokens=[PAD]))
    with pytest.raises(gw.UnsupportedError, match="give the source itself"):
        run(held(compiled, suppress_tokens=[97]))


def test_a_special_token_of_the_source_may_be_banned_too() -> None:
    source = gw.special("<en>") + "a"
    rows = model().generate(torch.tensor([[97]]), max_new_tokens=4, **held(source))
    assert rows[0, 1:3].tolist() == [LANGUAGE, ord("a")]
    with pytest.raises(gw.UnsupportedError, match="<en>"):
        run(held(source, suppress_tokens=[LANGUAGE]))


# Forced tokens.


@pytest.mark.parametrize("more", [{}, BEAMS, SAMPLED])
def test_a_text_begins_after_a_forced_token_and_ends_before_another(more: dict[str, Any]) -> None:
    settings = {"forced_bos_token_id": LANGUAGE, "forced_eos_token_id": END, **more}
    for most in (5, 6, 12):
        rows = bart().generate(**batch(b"ab"), max_new_tokens=most, **held(WORD, **settings))
        assert rows[0, 1] == LANGUAGE
        assert END in rows[0]
        assert whole(WORD, texts(rows, 2)[:1])
    with pytest.raises(gw.LimitError, match="needs 3 tokens"):
        bart().generate(torch.tensor([[97]]), max_new_tokens=4, **held(WORD, **settings))


@pytest.mark.parametrize("token", [ord("a"), END])
def test_a_forced_token_that_is_text_is_refused(token: int) -> None:
    given = held(WORD, forced_bos_token_id=token, max_new_tokens=9)
    with pytest.raises(gw.UnsupportedError, match=f"forced_bos_token_id={token} would put a token"):
        bart().generate(torch.tensor([[97]]), **given)


# Other processors.


def test_another_processor_stands_before_the_constraint() -> None:
    ours, steps = LogitsProcessor(WORD, BYTES), Steps()
    with pytest.raises(gw.UnsupportedError, match=r"processor Steps does not.*Put it before"):
        run({"logits_processor": [ours, steps]})
    assert whole(WORD, run({"logits_processor": [steps, ours]}))
    with pytest.raises(gw.UnsupportedError, match=r"processor LogitsProcessor does not.*a & b"):
        run({"logits_processor": [ours, LogitsProcessor(WORD, BYTES)]})
    allowed = {"prefix_allowed_tokens_fn": prefix_allowed_tokens_fn(WORD, BYTES)}
    with pytest.raises(gw.UnsupportedError, match="comes after prefix_allowed_tokens_fn"):
        run({**allowed, "logits_processor": [steps]})
