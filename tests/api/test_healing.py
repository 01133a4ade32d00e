"""`heal=True`: what is offered and told, and what comes out, with brute force as the oracle."""

import asyncio
import math
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.api.jobs import Call
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from whole_batches import generate

SPELLED = [b"h", b"t", b"p", b":", b"/", b"http", b"://", b"tt", b"p:/", b"s", b"ht"]
WORDS = gw.Vocabulary([*SPELLED, b"<eos>"], eos_ids={len(SPELLED)})
END = len(SPELLED)
LIST = ["//s", "/ht", "s", "//", ""]


def completion(prompt: str, source: Any = None, seed: int = 0, **settings: Any) -> Result:
    model = gw.Model(FakeModel.random(WORDS, seed))
    whole = {"seed": seed, "max_new_tokens": 6} | settings
    call = Call(Ensemble(model.whole), prompt, source, **whole, heal=True)
    (done,) = generate(Ensemble(model.whole), [job.request for job in call.jobs()])
    return done


def oracle(texts: list[str] | None, taken: list[int], so_far: list[int]) -> set[int]:
    """The tokens that may come: those of the language, by brute force, where they go across."""
    begin = b"".join(SPELLED[t] for t in taken)
    read = b"".join(SPELLED[t] for t in so_far)
    left = taken[len(so_far) :] if taken[: len(so_far)] == so_far else []
    rest = b"".join(SPELLED[t] for t in left)
    allowed: set[int] = set()
    for token, spelling in enumerate(SPELLED):
        longer = read + spelling
        known = texts is None or any((begin + t.encode()).startswith(longer) for t in texts)
        crosses = not left or token == left[0] or spelling.startswith(rest)
        allowed |= {token} if known and crosses else set()
    ends = read.startswith(begin) and (texts is None or read[len(begin) :].decode() in texts)
    return allowed | ({END} if ends else set())


@pytest.mark.parametrize("texts", [None, LIST])
@pytest.mark.parametrize("seed", range(12))
def test_each_step_offers_what_brute_force_finds_and_tells_its_mass(
    texts: list[str] | None, seed: int
) -> None:
    done = completion("http:", None if texts is None else gw.Choice(texts), seed)
    # "http" and ":" are the prompt's fewest tokens; "://" begins with ":".
    taken, model = [3], FakeModel.random(WORDS, seed)
    tokens = [*done.tokens, *([END] if done.finish_reason == "stop" else [])]
    prompt = (5,)
    for place in range(len(done.log_allowed)):
        so_far = [*done.tokens[:place]]
        _, logits = model.prefill([[*prompt, *so_far]])
        logs = logits[0].double().log_softmax(0)
        allowed = oracle(texts, taken, so_far)
        assert tokens[place] in allowed
        mass = float(logs[sorted(allowed)].logsumexp(0))
        free = texts is None and place >= len(taken)
        assert done.log_allowed[place] == pytest.approx(0.0 if free else mass, abs=1e-5)
        if place < len(done.logprobs):
            assert done.logprobs[place] == pytest.approx(float(logs[tokens[place]]), abs=1e-5)
    spelled = b"".join(SPELLED[t] for t in done.tokens)
    assert spelled.startswith(b":")
    assert done.text == spelled[1:].decode()
    assert texts is None or done.text in texts


def test_several_tokens_are_taken_back_where_one_reads_across_all():
    likes = [0.0] * (END + 1)
    for token, like in [(8, 9.0), (4, 5.0)]:
        likes[token] = like
    model = gw.Model(FakeModel(WORDS, lambda prefix: torch.tensor(likes)))
    # Cut as "ht", "tt"?: "ttp:" is "tt", "p", ":" and "p:/" reads across the last two.
    healed = model.generate("ttp:", max_new_tokens=2, heal=True)
    assert (healed.tokens, healed.text) == ((8, 8), "/p:/")
    held = model.generate("ttp:", gw.Regex("/{3}"), max_new_tokens=4, heal=True)
    assert (held.tokens, held.text) == ((8, 4, 4), "///")
    # What the source does not let across is written as the prompt was.
    own = model.generate("ttp:", gw.Choice(["s"]), max_new_tokens=4, heal=True)
    assert (own.tokens, own.text) == ((2, 3, 9), "s")


def test_streams_batches_and_several_samples_heal_as_one_does_alone():
    model = gw.Model(FakeModel.random(WORDS, 3))
    prompts = ["http:", "s", "ttp:", "hh"]
    alone = [model.generate(p, heal=True, seed=2, max_new_tokens=5) for p in prompts]
    together = model.generate(prompts, heal=True, seed=2, max_new_tokens=5)
    assert [r.tokens for r in together] == [r.tokens for r in alone]
    for prompt, result in zip(prompts, alone, strict=True):
        parts = [*model.stream(prompt, heal=True, seed=2, max_new_tokens=5)]
        assert "".join(part.delta for part in parts) == result.text
        assert parts[-1].result.tokens == result.tokens
    two = model.generate("http:", heal=True, seed=2, num_return_sequences=2, max_new_tokens=5)
    assert two[0].tokens == alone[0].tokens
    beams = model.generate("http:", gw.Choice(LIST), heal=True, num_beams=4, max_new_tokens=5)
    assert beams.text in LIST
    later = asyncio.run(model.agenerate("http:", heal=True, seed=2, max_new_tokens=5))
    assert later.tokens == alone[0].tokens


def test_a_text_cut_before_its_prompt_is_whole_is_empty():
    likes = [0.0] * END + [9.0]
    likes[2] = 9.0
    model = gw.Model(FakeModel(WORDS, lambda prefix: torch.tensor(likes)))
    result = model.generate("ttp:", max_new_tokens=1, heal=True)
    assert (result.tokens, result.text, result.finish_reason) == ((2,), "", "length")
    (part,) = model.stream("ttp:", max_new_tokens=1, heal=True)
    assert (part.delta, part.text) == ("", "")
    with pytest.raises(gw.LimitError, match="needs 3 tokens"):
        model.generate("ttp:", gw.Choice(["s"]), max_new_tokens=1, heal=True)


def test_all_models_of_an_expression_read_the_prompt_without_its_end():
    seen: dict[str, list[tuple[int, ...]]] = {"base": [], "other": []}

    def fake(name: str) -> FakeModel:
        def logits(prefix: tuple[int, ...]) -> torch.Tensor:
            seen[name].append(prefix)
            return torch.zeros(END + 1)

        return FakeModel(WORDS, logits)

    base, other = gw.Model(fake("base"), name="base"), gw.Model(fake("other"), name="other")
    guided = base + 0.5 * (other.prompted("s") - other.unprompted())
    guided.generate("http:", max_new_tokens=1, heal=True)
    assert seen["base"] == [(5,)]
    assert sorted(seen["other"]) == [(5,), (9, 5)]
    # The end of one prompt is another's own only where the texts end alike.
    for rewrite in (lambda prompt: prompt + "s", lambda prompt: "h"):
        with pytest.raises(gw.UnsupportedError, match="does not end with it"):
            (base - other.prompted(rewrite)).generate("http:", max_new_tokens=1, heal=True)
    # A token that the end cuts is spelled anew: "p:/" without "/" is "p" and ":".
    seen["other"].clear()
    whole = (base + other.prompted(lambda prompt: "p:/")).generate
    whole("ht/", max_new_tokens=1, heal=True)
    assert (2, 3) in seen["other"] or (8,) in seen["other"]


def test_a_prompt_that_is_taken_back_whole_begins_as_an_empty_one():
    model = gw.Model(FakeModel.random(WORDS, 1))
    result = model.generate(":", max_new_tokens=3, heal=True, seed=1)
    spelled = b"".join(SPELLED[t] for t in result.tokens)
    assert spelled.startswith(b":")
    assert result.text == spelled[1:].decode()
    assert math.isfinite(result.log_z)
    empty = model.generate("", max_new_tokens=3, heal=True, seed=1)
    assert empty.tokens == model.generate("", max_new_tokens=3, seed=1).tokens
    for given in (None, 1, "yes"):
        with pytest.raises(gw.SourceError, match=r"heal is .*: it must be True or False"):
            model.generate("http:", heal=given)


def test_where_tokens_cannot_spell_every_byte_the_text_still_comes_out():
    spelled = [b"ab", b"c", b"a", b"bcd", b"abce", b"_d", b"<eos>"]
    vocabulary = gw.Vocabulary(spelled, eos_ids={6}, lead=b"_")
    model = gw.Model(FakeModel.random(vocabulary, 1))
    # Behind the prompt's own "ab" and "c" no token is a "d": another way to cut it is left.
    result = model.generate("abc", gw.Choice(["d"]), max_new_tokens=2, heal=True)
    assert (result.tokens, result.text) == ((2, 3), "d")


@pytest.mark.parametrize("source", [None, gw.Choice(["s", "//s"])])
@pytest.mark.parametrize("bad", [":", [3], "http"])
def test_what_the_prompt_says_itself_is_no_bad_word(source: Any, bad: Any) -> None:
    done = completion("http:", source, seed=2, bad_words_ids=[bad, "//"])
    assert done.tokens[0] == 3
    assert "//" not in done.text
    assert source is None or done.text == "s"
    assert bad not in (":", "http") or bad not in done.text
