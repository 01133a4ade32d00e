import pytest
import torch
from transformers.generation.configuration_utils import GenerationConfig

from guideway.errors import ModelError
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


def test_greedy_text_is_that_of_transformers_generate(smollm2: TransformersModel):
    requests = [
        Request(encode(smollm2, text), sampling=Sampling(max_new_tokens=10)) for text in PROMPTS
    ]
    settings = GenerationConfig(max_new_tokens=10, do_sample=False, eos_token_id=2, pad_token_id=2)
    for request, done in zip(requests, generate(smollm2, requests), strict=True):
        prompt = torch.tensor([request.prompt])
        more = {"attention_mask": torch.ones_like(prompt), "generation_config": settings}
        written = smollm2.module.generate(prompt, **more)[0, len(request.prompt) :]
        assert done.text == smollm2.tokenizer.decode(written, skip_special_tokens=True)


def test_a_batch_equals_its_rows_alone(smollm2: TransformersModel):
    settings = [
        Sampling(max_new_tokens=8),
        Sampling(max_new_tokens=12, temperature=0.8, top_p=0.9, seed=1),
        Sampling(max_new_tokens=5, top_k=20, seed=2),
        Sampling(max_new_tokens=10, stop="\n", min_p=0.05, seed=3),
    ]
    pairs = zip(PROMPTS, settings, strict=True)
    requests = [Request(encode(smollm2, text), sampling=each) for text, each in pairs]
    for request, done in zip(requests, generate(smollm2, requests), strict=True):
        single = generate(smollm2, [request])[0]
        assert done.tokens == single.tokens
        assert done.logprobs == pytest.approx(single.logprobs, abs=2e-3)


def test_a_model_that_generates_nothing_is_refused(smollm2: TransformersModel):
    with pytest.raises(ModelError, match="AutoModelForCausalLM"):
        TransformersModel(smollm2.module.model, smollm2.tokenizer)
