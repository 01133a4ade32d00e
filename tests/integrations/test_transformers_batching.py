"""Constraints in transformers' continuous batching: the tokens are those of our own loop."""

from typing import Any

import pytest
from transformers.generation.configuration_utils import ContinuousBatchingConfig, GenerationConfig

import guideway as gw
import small_models
from guideway.api.prompts import read_source
from guideway.generation.row.request import Request
from guideway.integrations.transformers_batching import Batching
from guideway.sampling.settings import Sampling
from whole_batches import generate

MODEL = small_models.tiny(seed=5)
END = max(MODEL.vocabulary.eos_ids)
PROMPT = [*b"A shared beginning, as long as a block of tokens. "]
NESTED = gw.Gbnf('root ::= item\nitem ::= [a-c]+ | "(" item ("," item)* ")"')
REQUESTS: list[tuple[Any, dict[str, Any]]] = [
    (gw.Regex("[a-z]{4,9}!"), {"max_new_tokens": 12}),
    (NESTED, {"max_new_tokens": 10, "temperature": 1.5, "seed": 1}),
    (None, {"max_new_tokens": 8, "repetition_penalty": 1.3}),
    (gw.Text(), {"max_new_tokens": 20, "stop": "e", "top_p": 0.9, "seed": 2}),
    (int, {"max_new_tokens": 3, "min_p": 0.1, "seed": 3}),
]


def manager(**settings: Any) -> Any:
    config = ContinuousBatchingConfig(
        page_size=32, num_blocks=40, max_batch_tokens=32, max_requests_per_batch=4
    )
    return MODEL.module.init_continuous_batching(
        GenerationConfig(max_new_tokens=4, eos_token_id=END, **settings), config
    )


def results(made: Any, names: list[str]) -> dict[str, Any]:
    found = dict[str, Any]()
    for _ in range(600):
        output = made.get_result(timeout=0.1)
        if output is not None:
            found[output.request_id] = output
        if {*names} <= found.keys():
            break
    made.stop(hard_stop=True)
    return found


@pytest.mark.parametrize("settings", [{}, {"do_sample": True, "temperature": 0.5}], ids=str)
def test_requests_get_the_tokens_of_our_own_loop(settings: dict[str, Any]):
    made = manager(**settings)
    batching = Batching(made, MODEL.tokenizer)
    made.start()
    names = [
        batching.add_request([*PROMPT, n], source, **more)
        for n, (source, more) in enumerate(REQUESTS)
    ]
    plain = made.add_request(PROMPT, max_new_tokens=4)
    found = results(made, [*names, plain])
    for n, ((source, more), name) in enumerate(zip(REQUESTS, names, strict=True)):
        read = read_source(source)
        constraint = None if read is None else gw.compile(read, batching.vocabulary)
        request = Request((*PROMPT, n), constraint, Sampling.of(more), free=source is None)
        (done,) = generate(MODEL, [request])
        tokens = [token for token in found[name].generated_tokens if token != END]
        assert tuple(tokens) == done.tokens, REQUESTS[n]
        assert found[name].error is None
    assert 1 <= len(found[plain].generated_tokens) <= 4
    assert not batching._rows


def test_an_error_of_a_request_is_in_its_result():
    made = manager()
    batching = Batching(made, MODEL.tokenizer)
    made.start()
    words = [[token] for token in range(MODEL.vocabulary.width - 1)]
    bad = batching.add_request(PROMPT, gw.Regex("[a-z]{9}"), bad_words_ids=words)
    good = batching.add_request(PROMPT, gw.Regex("[a-z]{9}"))
    gone = batching.add_request(PROMPT, gw.Text(), max_new_tokens=400)
    batching.cancel_request(gone)
    found = results(made, [bad, good])
    assert "no token is left" in found[bad].error
    assert found[good].error is None
    assert gone not in found


def test_what_cannot_be_done_is_refused():
    made = manager()
    batching = Batching(made, MODEL.tokenizer)
    batching.add_request(PROMPT, gw.Text(), request_id="a")
    for source, more, error in [
        (gw.Regex("("), {}, gw.SourceError),
        (gw.Regex("a{30}"), {"max_new_tokens": 2}, gw.LimitError),
        (None, {"num_beams": 2}, gw.UnsupportedError),
        (None, {"n": 2, "seed": 1}, gw.UnsupportedError),
        (None, {"temprature": 1}, gw.UnsupportedError),
        (None, {"request_id": "a"}, gw.SourceError),
    ]:
        with pytest.raises(error):
            batching.add_request(PROMPT, source, **more)
    with pytest.raises(gw.UnsupportedError, match="sequences"):
        Batching(manager(num_return_sequences=2, do_sample=True), MODEL.tokenizer)
    started = manager()
    started.start()
    with pytest.raises(gw.UnsupportedError, match="started"):
        Batching(started, MODEL.tokenizer)
    started.stop()
