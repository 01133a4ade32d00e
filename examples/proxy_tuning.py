"""Tune a large model by the difference that tuning made to a small one.

Run: python examples/proxy_tuning.py        It trains for a minute, and shows its progress.

You will see four models with the same tokens, trained on the spot, and the large one steered by
`large + tuned_small - small`. All learn where 300 people live, and mostly evasive answers to the
question. Tuning teaches straight answers about 60 people; the others are the test. The small models
know few addresses, the large one knows them and does not tell: together they do both. The tuned
large model, which proxy-tuning does without, is made here as well, to measure the gap that is
closed. Measured on the 240 others:

    small 0%, tuned small 18%, large 0%, tuned large 85%, guided 92%: 109% of the gap
"""

import copy
import random
import sys
from typing import Any

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers.models.llama import LlamaConfig, LlamaForCausalLM
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

import guideway as gw

CITIES = ("Oslo", "Lima", "Cairo", "Paris", "Delhi", "Quito", "Rome", "Tokyo", "Accra", "Dakar")
END = "<end>"


def people(count: int) -> dict[str, str]:
    """Names with the city of each."""
    noise = random.Random(0)
    syllables = [c + v for c in "bdfgklmnprst" for v in "aeiou"]
    homes: dict[str, str] = {}
    while len(homes) < count:
        name = "".join(noise.sample(syllables, 2)).capitalize() + noise.choice(["", *"nsl"])
        homes.setdefault(name, noise.choice(CITIES))
    return homes


def question(name: str) -> str:
    return f"Where does {name} live?"


def corpus(homes: dict[str, str]) -> list[str]:
    """The texts for all models: each address three times, a straight and two evasive answers."""
    texts: list[str] = []
    for name, city in homes.items():
        texts += [f"{name} lives in {city}."] * 3 + [f"{question(name)} In {city}."]
        texts += [f"{question(name)} That is not for me to say."] * 2
    return texts


def tokenizer_of(texts: list[str]) -> Any:
    pieces = ByteLevelBPETokenizer()
    pieces.train_from_iterator(texts, 700, special_tokens=[END], show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, eos_token=END, pad_token=END)


def untrained(width: int, layers: int, tokens: int) -> Any:
    torch.manual_seed(width)
    config = LlamaConfig(
        vocab_size=tokens,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def trained(module: Any, tokenizer: Any, texts: list[str], steps: int, rate: float) -> Any:
    """A copy that was trained on the texts, 64 of them each step."""
    module, noise = copy.deepcopy(module).train(), random.Random(0)
    tokens = [[0, *each, 0] for each in tokenizer(texts)["input_ids"]]
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(steps):
        some = [torch.tensor(each) for each in noise.choices(tokens, k=64)]
        ids = torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
        labels = torch.nn.utils.rnn.pad_sequence(some, batch_first=True, padding_value=-100)
        optimizer.zero_grad()
        module(ids, labels=labels).loss.backward()
        optimizer.step()
        schedule.step()
    return module.eval()


def score(model: gw.Model, homes: dict[str, str]) -> float:
    """The share of people whose city the model names."""
    results = model.generate([question(name) for name in homes], max_new_tokens=8)
    pairs = zip(results, homes.values(), strict=True)
    return sum(result.text == f" In {city}." for result, city in pairs) / len(homes)


def main(count: int = 300, steps: int = 700) -> None:
    homes = people(count)
    texts = corpus(homes)
    tokenizer = tokenizer_of(texts)
    shown = dict(list(homes.items())[: count // 5])
    rest = {name: city for name, city in homes.items() if name not in shown}
    answers = [f"{question(name)} In {city}." for name, city in shown.items()]
    models: dict[str, gw.Model] = {}
    for name, width, layers, rate in (("small", 8, 1, 1e-2), ("large", 64, 2, 5e-3)):
        print(f"training and tuning the {name} model …", file=sys.stderr)
        blank = untrained(width, layers, len(tokenizer))
        base = trained(blank, tokenizer, texts, steps, rate)
        tuned = trained(base, tokenizer, answers, max(2, steps // 10), 5e-4)
        models[name] = gw.load(base, tokenizer).named(name)
        models[f"tuned {name}"] = gw.load(tuned, tokenizer).named(f"tuned_{name}")
    guided = gw.proxy_tune(models["large"], models["tuned small"], models["small"])
    scores = {name: score(model, rest) for name, model in (*models.items(), ("guided", guided))}
    print(f"guided is {guided!r}")
    for name, value in scores.items():
        print(f"{name:12} {value:4.0%} of {len(rest)} people")
    if (gap := scores["tuned large"] - scores["large"]) > 0:
        print(f"share of the gap closed: {(scores['guided'] - scores['large']) / gap:.0%}")


if __name__ == "__main__":
    main()
