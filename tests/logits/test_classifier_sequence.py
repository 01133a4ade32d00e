"""A transformers model for sequence classification, tiny and with random weights."""

from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers.models.bert import BertConfig, BertForSequenceClassification
from transformers.pipelines import pipeline
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from guideway.errors import ModelError
from guideway.logits.classifier import classify
from guideway.logits.classifier_sources import BATCH, classifier

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *"abcdefgh"]


def make_tokenizer(
    longest: int = 8, pad: str | None = "[PAD]", *, framed: bool = True
) -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    if framed:
        inner.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token=pad, unk_token="[UNK]", model_max_length=longest
    )


def make_model(labels: tuple[str, ...], **options: object) -> BertForSequenceClassification:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=10, initializer_range=1.0,
        id2label=dict(enumerate(labels)), label2id={name: n for n, name in enumerate(labels)},
        **options,
    )  # fmt: skip
    return BertForSequenceClassification(config).eval()


def logits(model: BertForSequenceClassification, text: str) -> torch.Tensor:
    """What the model says of one text alone."""
    ids = [1, *[WORDS.index(word) for word in text.split()], 2]
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0]


TEXTS = ["a b", "h", "", "c d e f", "g g"]


@pytest.mark.parametrize("label", ["rude", "kind", "odd"])
def test_a_batch_of_texts_is_what_the_model_says_of_each_alone(label: str):
    labels = ("kind", "odd", "rude")
    model, tokenizer = make_model(labels), make_tokenizer()
    term = classifier((model, tokenizer), alpha=1, label=label)
    assert term.name == "BertForSequenceClassification"
    many = [f"{one} {two}" for one in "abcdefgh" for two in "abcdefghabc"]
    assert len(many) > BATCH
    for texts in (TEXTS, many):
        each = [logits(model, text).log_softmax(0)[labels.index(label)] for text in texts]
        torch.testing.assert_close(classify(term, texts).float(), torch.stack(each))
    both = pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
    same = classifier(both, alpha=1, label=label)
    assert torch.equal(classify(term, TEXTS), classify(same, TEXTS))


def test_one_logit_and_several_labels_at_once_are_logistic():
    several = {"problem_type": "multi_label_classification"}
    for labels, options, label in ((("score",), {}, None), (("a", "b", "c"), several, "b")):
        model = make_model(labels, **options)
        named = {} if label is None else {"label": label}
        given = classify(classifier((model, make_tokenizer()), alpha=1, **named), TEXTS).float()
        place = 0 if label is None else labels.index(label)
        expected = torch.stack([logits(model, text)[place] for text in TEXTS])
        torch.testing.assert_close(given, torch.nn.functional.logsigmoid(expected))


@pytest.mark.parametrize(
    ("longest", "positions", "read"),
    [(8, 10, "c d e f g h"), (10**30, 10, "c d e f g h"), (10**30, 0, "a b c d e f g h")],
)
def test_a_long_text_is_cut_on_the_left(longest: int, positions: int, read: str):
    """By the tokenizer's limit, or by the positions of the model, which may name none."""
    model, tokenizer = make_model(("no", "yes")), make_tokenizer(longest)
    model.config.max_position_embeddings = positions
    long = " ".join("abcdefgh" * (5 if positions else 1))
    term = classifier((model, tokenizer), alpha=1)
    expected = logits(model, read).log_softmax(0)[1:2]
    torch.testing.assert_close(classify(term, [long]).float(), expected)
    named = classifier((model, tokenizer), alpha=1, label="yes")  # the second of two is meant
    assert torch.equal(classify(term, [long]), classify(named, [long]))
    assert tokenizer.truncation_side == "right"  # the user's own is left as it is


def test_an_empty_text_is_one_token_where_the_tokenizer_gives_it_none():
    model = make_model(("no", "yes"))
    term = classifier((model, make_tokenizer(framed=False)), alpha=1)
    alone, beside = classify(term, [""]), classify(term, ["a b c", ""])
    torch.testing.assert_close(alone[0], beside[1])
    with torch.inference_mode():
        expected = model(torch.tensor([[0]])).logits[0].log_softmax(0)[1]
    torch.testing.assert_close(alone[0].float(), expected)


NO_YES = ("no", "yes")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (make_model(NO_YES), {"label": "yess"}, "no label 'yess': .* 'no', 'yes'; did you mean 'y"),
        (torch.nn.Linear(2, 2), {}, r"Linear is not a sequence classifier: .* no id2label"),
        (make_model(NO_YES).train(), {}, r"training mode.* call its eval\(\)"),
        (make_model(NO_YES, pad_token_id=None), {}, "padding token: set its tokenizer's pad_token"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(source: Any, options: Any, message: str):
    with pytest.raises(ModelError, match=message):
        classifier((source, make_tokenizer()), alpha=1, **options)
    with pytest.raises(ModelError, match="is not a classifier: it must have log_probs"):
        classifier(source, alpha=1)  # without its tokenizer
    with pytest.raises(ModelError, match="no padding token"):
        classifier((make_model(NO_YES), make_tokenizer(pad=None)), alpha=1)
