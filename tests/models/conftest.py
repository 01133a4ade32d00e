from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

from guideway.models.load import load
from guideway.models.transformers import TransformersModel
from real_tokenizers import tokenizer_folder
from small_models import SMALL, tokenizer


@pytest.fixture(scope="session")
def smollm2() -> TransformersModel:
    """The built-in model."""
    model = load("smollm2-135m", device="cpu", backend="transformers")
    assert isinstance(model, TransformersModel)
    return model


@pytest.fixture(scope="session")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights, tied or not, whose blocks fit int4."""
    place, tied = tmp_path_factory.mktemp("model"), getattr(request, "param", False)
    torch.manual_seed(0)
    sizes: dict[str, Any] = SMALL | {"intermediate_size": 64, "eos_token_id": [50_256, 11]}
    config = LlamaConfig(**sizes, num_hidden_layers=2, tie_word_embeddings=tied)
    AutoModelForCausalLM.from_config(config).save_pretrained(place)
    tokenizer(tokenizer_folder("gpt2")).save_pretrained(place)
    return place
