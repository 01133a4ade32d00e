"""A transformers model for sequence classification, tiny and with random weights."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers.models.bert import BertConfig, BertForSequenceClassification
from transformers.pipelines import pipeline
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from guideway.errors import ModelError
from guideway.logits.classifier import asked
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
    model = make_model(("kind", "odd", "rude"))
    term = classifier((model, make_tokenizer()), alpha=1, label=label)
    assert term.name == "BertForSequenceClassification"
    place = ("kind", "odd", "rude").index(label)
    expected = torch.stack([logits(model, text).log_softmax(0)[place] for text in TEXTS])
    torch.testing.assert_close(asked(term, TEXTS).float(), expected)
    many = [f"{one} {two}" for one in "abcdefgh" for two in "abcdefghabc"]
    assert len(many) > BATCH
    expected = torch.stack([logits(model, text).log_softmax(0)[place] for text in many])
    torch.testing.assert_close(asked(term, many).float(), expected)


def test_one_logit_and_several_labels_at_once_are_logistic():
    one = make_model(("score",))
    given = asked(classifier((one, make_tokenizer()), alpha=1), TEXTS).float()
    expected = torch.stack([logits(one, text)[0] for text in TEXTS])
    torch.testing.assert_close(given, torch.nn.functional.logsigmoid(expected))
    many = make_model(("a", "b", "c"), problem_type="multi_label_classification")
    given = asked(classifier((many, make_tokenizer()), alpha=1, label="b"), TEXTS).float()
    expected = torch.stack([logits(many, text)[1] for text in TEXTS])
    torch.testing.assert_close(given, torch.nn.functional.logsigmoid(expected))


def test_the_second_of_two_labels_is_meant_where_none_is_named():
    model, tokenizer = make_model(("no", "yes")), make_tokenizer()
    unnamed = asked(classifier((model, tokenizer), alpha=1), TEXTS)
    named = asked(classifier((model, tokenizer), alpha=1, label="yes"), TEXTS)
    assert torch.equal(unnamed, named)


@pytest.mark.parametrize("longest", [8, 10**30])
def test_a_long_text_is_cut_on_the_left(longest: int):
    """By the tokenizer's limit, or by the positions of the model."""
    model, tokenizer = make_model(("no", "yes")), make_tokenizer(longest)
    long = " ".join("abcdefgh" * 5)
    given = asked(classifier((model, tokenizer), alpha=1), [long])
    expected = logits(model, "c d e f g h").log_softmax(0)[1]
    torch.testing.assert_close(given.float(), expected[None])
    assert tokenizer.truncation_side == "right"  # the user's own is left as it is


def test_without_any_limit_all_of_a_text_is_read():
    model = make_model(("no", "yes"))
    model.config.max_position_embeddings = 0  # as configurations say that name none
    term = classifier((model, make_tokenizer(10**30)), alpha=1)
    text = "a b c d e f g h"
    torch.testing.assert_close(asked(term, [text]).float(), logits(model, text).log_softmax(0)[1:2])


def test_an_empty_text_is_one_token_where_the_tokenizer_gives_it_none():
    model = make_model(("no", "yes"))
    term = classifier((model, make_tokenizer(framed=False)), alpha=1)
    alone, beside = asked(term, [""]), asked(term, ["a b c", ""])
    torch.testing.assert_close(alone[0], beside[1])
    with torch.inference_mode():
        expected = model(torch.tensor([[0]])).logits[0].log_softmax(0)[1]
    torch.testing.assert_close(alone[0].float(), expected)


def test_a_pipeline_is_its_model_and_tokenizer():
    model, tokenizer = make_model(("no", "yes")), make_tokenizer()
    both = pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
    given = asked(classifier(both, alpha=1, label="no"), TEXTS)
    assert torch.equal(given, asked(classifier((model, tokenizer), alpha=1, label="no"), TEXTS))


def test_what_cannot_be_used_is_refused_by_name():
    model, tokenizer = make_model(("no", "yes")), make_tokenizer()
    with pytest.raises(ModelError, match="no label 'yess': it has 'no', 'yes'; did you mean 'yes'"):
        classifier((model, tokenizer), alpha=1, label="yess")
    with pytest.raises(ModelError, match=r"Linear is not a sequence classifier: .* no id2label"):
        classifier((torch.nn.Linear(2, 2), tokenizer), alpha=1)
    with pytest.raises(ModelError, match="is not a classifier: it must have log_probs"):
        classifier(model, alpha=1)  # without its tokenizer
    with pytest.raises(ModelError, match="no padding token"):
        classifier((model, make_tokenizer(pad=None)), alpha=1)
    unpadded = make_model(("no", "yes"))
    unpadded.config.pad_token_id = None
    with pytest.raises(ModelError, match="no padding token: set its tokenizer's pad_token and its"):
        classifier((unpadded, tokenizer), alpha=1)
    with pytest.raises(ModelError, match=r"training mode.* call its eval\(\)"):
        classifier((make_model(("no", "yes")).train(), tokenizer), alpha=1)
