"""`guideway.integrations.transformers` in every mode of `generate`, on a model of bytes with random
weights: what comes out is always whole and in the language, whatever was asked before."""

import copy
import math
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from pydantic import AfterValidator
from torch import Tensor
from transformers.generation import logits_process

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint
from guideway.integrations.transformers import LogitsProcessor, prefix_allowed_tokens_fn
from integrations.byte_models import (
    BYTES,
    END,
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
from small_models import CACHE

NUMBERS = list[int]
PROMPT = b"Say ab 12 cd! ab 12"  # prompt lookup finds in it what may come, and what must not


def rows(inputs: dict[str, Tensor], how: Any = None, **settings: Any) -> Tensor:
    """What `generate` returns with a processor or a prefix function."""
    settings = {"max_new_tokens": 16, "do_sample": False, **settings}
    if isinstance(how, logits_process.LogitsProcessor):
        settings["logits_processor"] = [how]
    elif how is not None:
        settings["prefix_allowed_tokens_fn"] = how
    torch.manual_seed(1)
    return model().generate(**inputs, **settings)


def generate(inputs: dict[str, Tensor], how: Any = None, **settings: Any) -> list[bytes]:
    return texts(rows(inputs, how, **settings), inputs["input_ids"].shape[1])


SINGLE: dict[str, dict[str, Any]] = {
    "a draft model": {"assistant_model": 1},
    "a sampled draft": {"assistant_model": 1, "do_sample": True},
    "prompt lookup": {"prompt_lookup_num_tokens": 5},
    "sampled prompt lookup": {"prompt_lookup_num_tokens": 3, "do_sample": True},
    "an early exit": {"assistant_early_exit": 1},
}
SEVERAL: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "top_k": 0, "temperature": 1.5},
    "several sequences": {"do_sample": True, "top_k": 7, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 3},
    "beams that stop early": {"num_beams": 3, "early_stopping": True, "length_penalty": 2.0},
    "sampled beams": {"num_beams": 4, "do_sample": True, "num_return_sequences": 4, "top_k": 3},
    "eta sampled beams": {"num_beams": 3, "do_sample": True, "eta_cutoff": 0.01, "top_p": 0.9},
    "a static cache": {"cache_implementation": "static"},
    "no cache": {"use_cache": False},
    "penalties": {"repetition_penalty": 1.3, "renormalize_logits": True},
    "a watermark": {"watermarking_config": {"bias": 2.0}},
}


def settings(mode: str) -> dict[str, Any]:
    given = {**SINGLE, **SEVERAL}[mode]
    return {k: model(v) if k == "assistant_model" else v for k, v in given.items()}


MAKERS: list[Callable[..., Any]] = [LogitsProcessor, prefix_allowed_tokens_fn]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("mode", SINGLE)
def test_a_mode_for_one_prompt_gives_whole_texts(mode: str, make: Callable[..., Any]) -> None:
    held = make(WORD, BYTES)
    for most in (16, 7):  # 7 are enough for a few words
        said = generate(batch(PROMPT), held, max_new_tokens=most, **settings(mode))
        assert whole(WORD, said), said


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("mode", SEVERAL)
def test_a_batch_has_a_constraint_for_each_prompt(mode: str, make: Callable[..., Any]) -> None:
    held = make([WORD, None, NUMBERS], BYTES)
    given = settings(mode)
    if make is prefix_allowed_tokens_fn and given.get("do_sample") and "num_beams" in given:
        given["num_return_sequences"] = 1
    said = rows(batch(b"Hi!", b"x", b"Numbers: "), held, **given)
    copies = len(said) // 3
    assert copies == given.get("num_return_sequences", 1)
    assert whole(WORD, texts(said[:copies], 9)), said
    assert whole(NUMBERS, texts(said[2 * copies :], 9)), said


def test_several_sampled_beams_need_a_processor() -> None:
    allowed = prefix_allowed_tokens_fn(WORD, BYTES)
    with pytest.raises(gw.UnsupportedError, match="several sampled beams need LogitsProcessor"):
        generate(batch(b"Say"), allowed, **settings("sampled beams"))


def test_greedy_and_assisted_texts_are_those_of_the_argmax_under_the_mask() -> None:
    constraint = gw.compile(WORD, BYTES)
    tokens, state = list(PROMPT), constraint.start()
    while not state.ended:
        with torch.no_grad():
            row = model()(torch.tensor([tokens])).logits[0, -1].numpy()
        mask = np.unpackbits(constraint.mask(state).view(np.uint8), bitorder="little")[:WIDTH]
        token = int(np.where(mask, row, -math.inf).argmax())
        state = constraint.advance(state, token)
        tokens.append(token)
    expected = [bytes(tokens[len(PROMPT) : -1])]
    for mode in ("greedy", "a draft model", "prompt lookup", "an early exit", "a static cache"):
        assert generate(batch(PROMPT), LogitsProcessor(WORD, BYTES), **settings(mode)) == expected


def test_a_row_is_the_same_alone_and_in_a_padded_batch_of_others() -> None:
    prompts = (b"Say ab!", b"1, 2", b"Say ab!", b"no")  # one of them twice
    sources = [WORD, NUMBERS, WORD, WORD]
    said = generate(batch(*prompts), LogitsProcessor(sources, BYTES))
    for prompt, source, text in zip(prompts, sources, said, strict=True):
        assert generate(batch(prompt), LogitsProcessor(source, BYTES)) == [text]


# What others' processors do wrong: exceptions with beams (xgrammar#681, outlines), one use only
# (xgrammar), no mixed batches (outlines, guidance), texts that go on where another one stopped.


def test_one_processor_serves_any_number_of_calls_with_prompts_of_any_length() -> None:
    held = LogitsProcessor(WORD, BYTES)
    fresh = [generate(batch(prompt), LogitsProcessor(WORD, BYTES)) for prompt in (b"one", b"four")]
    assert [generate(batch(prompt), held) for prompt in (b"one", b"four")] == fresh
    assert generate(batch(b"four"), held) == fresh[1]
    generate(batch(b"four"), held, num_beams=3)
    assert generate(batch(b"one"), held) == fresh[0]


@pytest.mark.parametrize("more", [b"", b"\n", b"!", b" and more"])
def test_a_chat_goes_on_from_its_own_text_and_any_more_tokens(more: bytes) -> None:
    # One token more looks like the next step of the call before, none like its last step again.
    held = LogitsProcessor(WORD, BYTES)
    prompt = b"Say"
    for _ in range(3):
        said = generate(batch(prompt), held)
        assert said == generate(batch(prompt), LogitsProcessor(WORD, BYTES))
        assert whole(WORD, said)
        prompt += said[0] + more


def test_a_text_that_ended_with_an_end_id_may_be_the_next_prompt() -> None:
    held = LogitsProcessor(WORD, BYTES)
    first = rows(batch(b"Say"), held)
    assert int(first[0, -1]) in BYTES.eos_ids
    assert whole(WORD, texts(rows({"input_ids": first}, held), first.shape[1]))


def test_threads_may_share_a_processor() -> None:
    held = LogitsProcessor([WORD, NUMBERS], BYTES)
    prompts = [batch(b"a" * n, b"bc" * n) for n in range(1, 4)]
    with ThreadPoolExecutor(3) as pool:
        said = pool.map(lambda inputs: generate(inputs, held), prompts)
    assert [*said] == [generate(inputs, held) for inputs in prompts]


def test_embeddings_may_stand_for_the_prompt() -> None:
    inputs = batch(b"Say", b"Say it")
    embedded = {
        "inputs_embeds": model().get_input_embeddings()(inputs["input_ids"]),
        "attention_mask": inputs["attention_mask"],
    }
    held = LogitsProcessor(WORD, BYTES)
    for given in ({}, {"num_beams": 3}):
        assert texts(rows(embedded, held, **given), 0) == generate(inputs, held, **given)


def test_a_cache_of_the_prompts_beginning_changes_nothing() -> None:
    inputs, held = batch(b"Say it"), LogitsProcessor(WORD, BYTES)
    with torch.no_grad():
        past = getattr(model()(inputs["input_ids"][:, :4], use_cache=True), CACHE)
    assert generate(inputs, held, **{CACHE: past}) == generate(inputs, held)


def test_models_with_an_encoder_are_held_from_their_first_token() -> None:
    encoded = bart(forced_eos_token_id=END)
    for given in ({}, {"num_beams": 3}):
        held = {"logits_processor": [LogitsProcessor(WORD, BYTES)], **given}
        said = encoded.generate(**batch(b"Say", b"it"), max_new_tokens=16, **held)
        assert whole(WORD, texts(said, 1))


# Limits and ends.


FEW = {(2, "beams"), (2, "sampled beams"), (3, "sampled beams")}


@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams", "sampled beams", "prompt lookup"])
def test_no_text_is_cut_in_half_however_few_tokens_there_are(mode: str) -> None:
    held = LogitsProcessor(NUMBERS, BYTES)
    for most in (2, 3, 5, 7):
        if (most, mode) in FEW:  # where several beams are to be returned
            with pytest.raises(gw.LimitError, match=r"only [13] "):
                generate(batch(b"Numbers: "), held, max_new_tokens=most, **settings(mode))
            continue
        said = generate(batch(b"Numbers: "), held, max_new_tokens=most, **settings(mode))
        assert whole(NUMBERS, said), said
    shorter = LogitsProcessor(NUMBERS, BYTES, max_new_tokens=3)
    assert all(len(text) <= 3 for text in generate(batch(b"Numbers: "), shorter))


@pytest.mark.parametrize("make", MAKERS)
def test_a_limit_of_ones_own_ends_texts_that_could_go_on(make: Callable[..., Any]) -> None:
    held = make(gw.Regex("[a-z]+"), BYTES, max_new_tokens=3)
    for mode in ("greedy", "beams", "prompt lookup"):
        assert all(len(text) <= 3 for text in generate(batch(b"?"), held, **settings(mode)))


def test_too_few_tokens_for_any_text_are_refused_with_what_is_needed() -> None:
    for make in MAKERS:
        with pytest.raises(gw.LimitError, match=r"needs 7 tokens.*cut off after 6") as caught:
            generate(batch(b"?"), make("exactly", BYTES), max_new_tokens=6)
        assert (caught.value.given, caught.value.needed) == (6, 7)


def test_texts_end_with_an_id_at_which_generate_stops() -> None:
    held = LogitsProcessor(gw.Choice(["ab"]), BYTES)
    for end in (END, OTHER_END):
        assert rows(batch(b"?"), held, eos_token_id=end)[0, 1:].tolist() == [*b"ab", end]


def test_rows_that_ended_get_pads_while_others_go_on() -> None:
    held = LogitsProcessor(["a", gw.Regex("b{12}")], BYTES)
    both = rows(batch(b"?", b"?"), held)
    assert both[0, 1] == ord("a")
    assert set(both[0, 3:].tolist()) == {PAD}
    assert texts(both, 1) == [b"a", b"b" * 12]


def test_the_prompt_may_hold_the_beginning_of_the_text_or_a_joint_may_stand_before_it() -> None:
    held = LogitsProcessor(gw.Choice(["hello there", "help"]), BYTES, prompt_length=2)
    assert generate(batch(b"> hello"), held) == [b" there"]
    joined = LogitsProcessor(gw.Choice(["ab"]), BYTES, joint=b" ")
    assert generate(batch(b"?"), joined) == [b" ab"]


def test_more_beams_than_there_are_texts_are_refused() -> None:
    # transformers would fill up with pads and with beginnings of texts, and say nothing.
    held = LogitsProcessor(gw.Choice(["ab", "b"]), BYTES)
    said = generate(batch(b"?"), held, num_beams=4, num_return_sequences=4)  # with two ends each
    assert sorted(said) == [b"ab", b"ab", b"b", b"b"]
    with pytest.raises(gw.LimitError, match="asks for 4 beams of a prompt, and only 2") as caught:
        generate(batch(b"?"), held, num_beams=4, num_return_sequences=4, eos_token_id=END)
    assert caught.value.given == 4
    three = LogitsProcessor(gw.Choice(["ab", "b", "cd", "ef"]), BYTES)
    with pytest.raises(gw.LimitError, match="only 3"):
        generate(
            batch(b"?"), three, num_beams=4, num_return_sequences=4, eos_token_id=END,
            suppress_tokens=[ord("a")],
        )  # fmt: skip


# Refusals and errors.


@pytest.mark.parametrize("mode", ["greedy", "beams"])
def test_another_processor_that_leaves_no_token_is_a_dead_end(mode: str) -> None:
    held = LogitsProcessor(WORD, BYTES)
    with pytest.raises(gw.DeadEndError, match=r"row 0.*another processor, .*: SuppressTokensAtBeg"):
        rows(batch(b"?"), held, begin_suppress_tokens=list(range(97, 123)), **settings(mode))
    assert whole(WORD, generate(batch(b"?"), held))  # nothing of it stays


def test_a_text_that_the_caller_made_leave_the_language_is_an_error() -> None:
    def changed(model: Any, input_ids: Tensor, logits_processor: Any, **more: Any) -> Any:
        return logits_processor(torch.tensor([[63, 97, 55]]), torch.zeros(1, WIDTH))

    with pytest.raises(gw.TokenRejected, match=r"row 0 left the language at its token 1.*b'7'"):
        generate(batch(b"?"), LogitsProcessor(WORD, BYTES), custom_generate=changed)


def test_scores_that_are_no_numbers_and_rows_without_a_token_are_our_errors() -> None:
    held = LogitsProcessor(WORD, BYTES, prompt_length=1)
    ids, scores = torch.tensor([[65]]), torch.zeros(1, WIDTH)
    for wrong in (math.nan, math.inf):
        with pytest.raises(gw.ModelError, match="row 0 are NaN or infinite"):
            held(ids, torch.full_like(scores, wrong))
    with pytest.raises(gw.DeadEndError, match="no token is left in row 0"):
        held(ids, torch.full_like(scores, -math.inf))
    with pytest.raises(gw.DeadEndError, match="min_new_tokens"):
        held(ids, scores - math.inf)
    held(ids, scores)
    assert not scores.any()  # what is given is left as it is


class Tokenizer:
    """As much of a tokenizer as transformers needs for a draft with another one."""

    def __call__(self, text: Any, **more: Any) -> dict[str, Tensor]:
        return {"input_ids": torch.tensor([[97, 98]])}

    def decode(self, ids: Any, **more: Any) -> list[str]:
        return ["ab"]


def test_a_draft_with_a_tokenizer_of_its_own_is_refused() -> None:
    own = {"assistant_model": model(1, 300), "assistant_tokenizer": Tokenizer()}
    with pytest.raises(gw.UnsupportedError, match="a draft model with its own tokenizer"):
        generate(batch(b"Say"), LogitsProcessor(WORD, BYTES), tokenizer=Tokenizer(), **own)


@pytest.mark.parametrize(("source", "length", "rows", "error", "message"), [
    (WORD, None, [1, 2], gw.UnsupportedError, "continuous batching does not pass"),
    (WORD, None, [[1, 2]], gw.UnsupportedError, "prompt_length= is missing"),
    (WORD, 3, [[1, 2]], gw.SourceError, "prompt_length is 3, and row 0 has 2 tokens"),
    ([WORD, None], 1, [[1]] * 3, gw.SourceError, "2 sources for 3 prompts"),
])  # fmt: skip
def test_another_loop_has_to_say_where_texts_begin(
    source: Any, length: int | None, rows: Any, error: Any, message: str
) -> None:
    assert LogitsProcessor.supports_continuous_batching is False
    held = LogitsProcessor(source, BYTES, prompt_length=length)
    with pytest.raises(error, match=message):
        held(torch.tensor(rows), torch.zeros(len(rows), WIDTH))


def test_sources_are_one_for_all_prompts_or_one_each() -> None:
    for make in MAKERS:
        with pytest.raises(gw.SourceError, match="2 sources for 3 prompts"):
            generate(batch(b"a", b"b", b"c"), make([WORD, None], BYTES))
    with pytest.raises(gw.SourceError, match="no source for row 2"):
        prefix_allowed_tokens_fn([WORD, None], BYTES, prompt_length=1)(2, torch.tensor([1]))


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (([], BYTES), gw.SourceError, "list of sources is empty"),
    ((WORD, "gpt2"), gw.SourceError, "vocabulary must be.*'gpt2'"),
    ((3, BYTES), gw.SourceError, "3"),
    ((WORD, gw.Vocabulary([b"a"], loss="all of it")), gw.UnsupportedError, "all of it"),
])  # fmt: skip
def test_wrong_arguments_are_told(arguments: Any, error: Any, message: str) -> None:
    for make in MAKERS:
        with pytest.raises(error, match=message):
            make(*arguments)
    for given, told in (
        ({"prompt_length": -1}, "prompt_length is -1: it must be a whole number from 0"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0: .* from 1"),
        ({"joint": " "}, "joint must be bytes, got ' '"),
    ):
        with pytest.raises(gw.SourceError, match=told):
            LogitsProcessor(WORD, BYTES, **given)


def test_constraints_and_scores_of_another_vocabulary_are_refused() -> None:
    other = gw.Vocabulary([b"a", b"b"], {END}, width=260)
    compiled = gw.compile(gw.Regex("a"), other)
    with pytest.raises(gw.ModelError, match="compiled for another vocabulary"):
        LogitsProcessor([WORD, compiled], BYTES)
    with pytest.raises(gw.ModelError, match=r"gives 264 scores, .* vocabulary has the width 260"):
        generate(batch(b"?"), LogitsProcessor(compiled))


def test_settings_that_hold_a_processor_can_be_copied():
    settings = {"logits_processor": [LogitsProcessor(WORD, BYTES)], "max_new_tokens": 20}
    copied = copy.deepcopy(settings)
    assert copied["logits_processor"] is not settings["logits_processor"]
    assert generate(batch(b"a"), **settings) == generate(batch(b"a"), **copied)


@pytest.mark.parametrize(
    "source", [WORD, {"type": "integer"}, NUMBERS, [WORD, None], gw.compile(WORD, BYTES)], ids=repr
)
def test_processors_and_prefix_functions_are_pickled_with_their_sources(source: Any) -> None:
    joint = b"x" if source is WORD else b""
    given = None if isinstance(source, CompiledConstraint) else BYTES
    prompts = batch(b"a", b"bc") if isinstance(source, list) else batch(b"a")
    for made in (
        LogitsProcessor(source, given, prompt_length=None, max_new_tokens=9, joint=joint),
        prefix_allowed_tokens_fn(source, given, max_new_tokens=9),
    ):
        assert generate(prompts, pickle.loads(pickle.dumps(made))) == generate(prompts, made)


def test_a_source_that_pickle_cannot_hold_is_refused_by_name() -> None:
    processor = LogitsProcessor(Annotated[int, AfterValidator(lambda value: value)], BYTES)
    with pytest.raises(gw.UnsupportedError, match=r"the source .* cannot be pickled"):
        pickle.dumps(processor)
