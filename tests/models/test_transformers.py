import copy

import pytest
import torch
from transformers.generation.configuration_utils import GenerationConfig

from guideway.errors import ModelError
from guideway.generation.loop import Decoding
from guideway.generation.row.request import Request
from guideway.models.transformers import TransformersModel
from guideway.sampling.settings import Sampling
from whole_batches import generate

pytestmark = pytest.mark.model

PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a village by the sea, there lived a",
    "1, 2, 3,",
    "def add(a, b):",
]


def encode(model: TransformersModel, text: str) -> tuple[int, ...]:
    return tuple(model.tokenizer.encode(text))


def alone(model: TransformersModel, tokens: tuple[int, ...]) -> torch.Tensor:
    """All logits of one row, from one forward without any cache."""
    with torch.inference_mode():
        return model.module(torch.tensor([tokens]), use_cache=False).logits[0].float()


def test_a_padded_batch_gives_what_each_prompt_gives_alone(smollm2: TransformersModel):
    prompts = [encode(smollm2, text) for text in PROMPTS]
    _, logits = smollm2.prefill(prompts)
    for row, prompt in zip(logits, prompts, strict=True):
        torch.testing.assert_close(row, alone(smollm2, prompt)[-1], atol=2e-3, rtol=1e-4)


def test_extending_by_several_tokens_equals_one_forward_of_all(smollm2: TransformersModel):
    prompts = [encode(smollm2, text) for text in PROMPTS]
    more = torch.tensor([encode(smollm2, " a b c d")[:4]] * len(prompts))
    for batch in (prompts, prompts[:1]):
        cache, _ = smollm2.prefill(batch)
        cache, first = smollm2.extend(cache, more[: len(batch), :2])
        _, second = smollm2.extend(cache, more[: len(batch), 2:])
        got = torch.cat([first, second], 1)
        for row, prompt in zip(got, batch, strict=True):
            whole = alone(smollm2, (*prompt, *more[0].tolist()))
            torch.testing.assert_close(row, whole[-4:], atol=2e-3, rtol=1e-4)


def test_selected_rows_go_on_as_they_were_and_the_old_cache_stays(smollm2: TransformersModel):
    prompts = [encode(smollm2, text) for text in PROMPTS]
    cache, _ = smollm2.prefill(prompts)
    chosen = smollm2.select(cache, [2, 0, 2])
    token = encode(smollm2, " and")
    _, logits = smollm2.extend(chosen, torch.tensor([token] * 3))
    _, before = smollm2.extend(cache, torch.tensor([token] * 4))
    torch.testing.assert_close(logits[:, 0], before[[2, 0, 2], 0], atol=2e-3, rtol=1e-4)


def test_greedy_text_is_that_of_transformers_generate(smollm2: TransformersModel):
    requests = [
        Request(encode(smollm2, text), sampling=Sampling(max_new_tokens=10)) for text in PROMPTS
    ]
    together = generate(smollm2, requests)
    settings = GenerationConfig(max_new_tokens=10, do_sample=False, eos_token_id=2, pad_token_id=2)
    for request, done in zip(requests, together, strict=True):
        prompt = torch.tensor([request.prompt])
        expected = smollm2.module.generate(
            prompt, attention_mask=torch.ones_like(prompt), generation_config=settings
        )
        text = smollm2.tokenizer.decode(
            expected[0, len(request.prompt) :], skip_special_tokens=True
        )
        assert done.text == text


def test_a_batch_equals_its_rows_alone(smollm2: TransformersModel):
    requests = [
        Request(encode(smollm2, text), sampling=sampling)
        for text, sampling in zip(
            PROMPTS,
            [
                Sampling(max_new_tokens=8),
                Sampling(max_new_tokens=12, temperature=0.8, top_p=0.9, seed=1),
                Sampling(max_new_tokens=5, top_k=20, seed=2),
                Sampling(max_new_tokens=10, stop="\n", min_p=0.05, seed=3),
            ],
            strict=True,
        )
    ]
    together = generate(smollm2, requests)
    for request, done in zip(requests, together, strict=True):
        single = generate(smollm2, [request])[0]
        assert done.tokens == single.tokens
        assert done.logprobs == pytest.approx(single.logprobs, abs=2e-3)


def test_samples_of_one_prompt_differ_and_can_be_repeated(smollm2: TransformersModel):
    sampling = Sampling(num_return_sequences=3, temperature=1.0, max_new_tokens=8)
    requests = list(Request(encode(smollm2, PROMPTS[1]), sampling=sampling).samples())
    texts = [done.text for done in generate(smollm2, requests)]
    assert len(set(texts)) == 3
    assert [done.text for done in generate(smollm2, requests)] == texts


def test_streaming_tells_the_same_text(smollm2: TransformersModel):
    sampling = Sampling(max_new_tokens=16)
    decoding = Decoding(smollm2, [Request(encode(smollm2, PROMPTS[0]), sampling=sampling)])
    told = "".join(event.text for event in decoding)
    assert told == decoding.completions[0].text


def test_weights_that_are_no_numbers_are_an_error_that_names_the_step(smollm2: TransformersModel):
    broken = copy.deepcopy(smollm2.module)
    with torch.no_grad():
        broken.model.norm.weight[0] = torch.nan
    model = TransformersModel(broken, smollm2.tokenizer)
    with pytest.raises(ModelError, match="NaN or infinite logits at step 0"):
        generate(model, [Request((1, 2))])


def test_a_model_that_generates_nothing_is_refused(smollm2: TransformersModel):
    with pytest.raises(ModelError, match="AutoModelForCausalLM"):
        TransformersModel(smollm2.module.model, smollm2.tokenizer)
