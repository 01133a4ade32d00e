"""Load a sequence classifier of transformers for `guideway.classifier`."""

from typing import Any

from guideway.errors import ModelError


def load_classifier(name: str) -> tuple[Any, Any]:
    """The model and the tokenizer of a folder or of a hub id; weights are .safetensors only.

    Raises:
        ModelError: there is no such classifier, or it cannot be read.
    """
    from transformers.models.auto.modeling_auto import AutoModelForSequenceClassification
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    tokenizers: Any = AutoTokenizer
    models: Any = AutoModelForSequenceClassification
    try:
        tokenizer = tokenizers.from_pretrained(name, trust_remote_code=False)
        model = models.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"the classifier {name} cannot be loaded: {error}") from error
    return model.eval(), tokenizer
