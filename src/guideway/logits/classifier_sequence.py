"""Sequence classifiers of transformers as classifiers of texts.

The source is a model with its tokenizer, or a text-classification pipeline. Texts are padded, and
cut on the left if they are too long: candidates change the end. One logit is a logistic; several
are a softmax over the labels, or a logistic each for "multi_label_classification". transformers is
not imported.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import ModelError
from guideway.logits.labels import find_label

BATCH: Final = 64  # texts of a forward
UNLIMITED: Final = 1 << 30  # tokenizers without a limit name a number of thirty digits
MARGIN: Final = 2  # positions that RoBERTa's family counts and does not have


@final
class SequenceClassifier:
    """log P(label | text) by a transformers model for sequence classification."""

    def __init__(self, model: Any, tokenizer: Any, label: str | int | None = None) -> None:
        """The classifier of one label, by name or number.

        None is the only logit, or the second of two labels, the positive one by convention. The
        model must be in eval mode.
        """
        config = getattr(model, "config", None)
        names: Mapping[int, str] = getattr(config, "id2label", None) or {}
        if not names:
            raise ModelError(
                f"{type(model).__name__} is not a sequence classifier: its configuration has no "
                "id2label"
            )
        if getattr(model, "training", False):
            raise ModelError(
                f"{type(model).__name__} is in training mode, where dropout makes its answers "
                "random: call its eval()"
            )
        self._model = model
        self._single = len(names) == 1
        self._many = getattr(config, "problem_type", None) == "multi_label_classification"
        self._label = find_label(label, [names[n] for n in sorted(names)], type(model).__name__)
        self._tokenizer = copy.deepcopy(tokenizer)  # the user's own stays as it is
        self._tokenizer.truncation_side = "left"
        if self._tokenizer.pad_token is None or getattr(config, "pad_token_id", None) is None:
            raise ModelError(
                f"{type(model).__name__} has no padding token: set its tokenizer's pad_token and "
                "its config.pad_token_id"
            )
        self._most = _longest(self._tokenizer, config)
        # A model needs one token at least, and not every tokenizer begins a text with one.
        self._blank = "" if self._tokenizer("").input_ids else self._tokenizer.pad_token

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        """The logarithms of P(label | text), in float32, on the device of the model."""
        with torch.inference_mode():
            parts = [self._part(texts[n : n + BATCH]) for n in range(0, len(texts), BATCH)]
            return torch.cat(parts)

    def _part(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        inputs = self._tokenizer(
            [text or self._blank for text in texts],
            padding=True,
            truncation=self._most is not None,
            max_length=self._most,
            return_tensors="pt",
        )
        logits = self._model(**inputs.to(self._model.device)).logits.float()
        if self._single or self._many:
            return torch.nn.functional.logsigmoid(logits[:, self._label])
        return logits.log_softmax(1)[:, self._label]


def _longest(tokenizer: Any, config: Any) -> int | None:
    """Number of tokens that the model can read, None if unknown."""
    positions = getattr(config, "max_position_embeddings", None)
    limits = [getattr(tokenizer, "model_max_length", None), positions and positions - MARGIN]
    known = [limit for limit in limits if limit and 0 < limit < UNLIMITED]
    return min(known, default=None)
