"""Sample texts with the model's own probabilities, where token masks alone distort them.

Run: python examples/grammar_aligned.py        It takes some minutes, and shows its progress.

You will see how often each text is drawn with token masks alone ("local") and with
`exactness="rejection"`, `"asap"` and `"smc"`, beside the truth: the model's own probabilities,
given that the text is in the language. First for a toy grammar, then for the built-in model.

The toy model begins with 0 nine times of ten, and then hardly ever continues with another 0. Masks
for `00000 | 1[01]{4}` give 00000 nine times of ten; the truth is 9 in a hundred million. Measured
with 300 texts: local 91.7 %, ASAp 0.3 % (its first text), rejection and SMC none. Rejection draws
4.6 texts for each of the first 75, and 1.0 for each of the last 75, when it knows the language.

The built-in model is asked for a word about a reviewer. " not someone who says" is unlikely, but
begins with a likely word, and masks force the rest. Measured with 300 texts, the truth being happy
88.9 %, sad 11.1 %, the unlikely one below 0.01 %: it has 94.7 % with masks, 2.3 % with ASAp, none
with rejection (happy 87.3 %; 4.9 texts drawn for each of the first 75, 1.1 for the last) and none
with SMC (happy 76.3 %: particles look one token ahead, and few of 300 begin well).
"""

import math

import torch

import guideway as gw
from guideway.models.fake import FakeModel

BITS = gw.Vocabulary([b"0", b"1", b"<end>"], eos_ids={2})
PROMPT = "Review: I loved every minute of it.\nThe reviewer is"
WORDS = [" happy", " sad", " not someone who says"]


def skewed(prefix: tuple[int, ...]) -> torch.Tensor:
    first = prefix[1:2]
    one = 0.1 if not first else 0.99 if first[0] == 0 else 0.5
    return torch.tensor([1 - one, one, 0.0]).log()


def shares(results: list[gw.Result], texts: list[str]) -> str:
    drawn = [result.text for result in results]
    return ", ".join(f"{text.strip()} {drawn.count(text) / len(drawn):.1%}" for text in texts)


def compare(
    model: gw.Model, prompt: str, source: gw.Regex | gw.Choice, texts: list[str], count: int
) -> None:
    for mode in ("local", "asap", "rejection", "smc"):
        results = model.generate(
            [prompt], source, exactness=mode, seed=1, num_return_sequences=count, max_new_tokens=12,
            particles=max(count, 8) if mode == "smc" else None, progress=True,
        )  # fmt: skip
        note = ""
        if mode == "rejection":
            part = max(1, count // 4)
            first, last = results[:part], results[-part:]
            tries = [sum(r.attempts or 0 for r in each) / part for each in (first, last)]
            note = f"; draws for one text: {tries[0]:.1f} at first, {tries[1]:.1f} in the end"
        if population := results[0].population:
            size = population.effective_sample_size
            mass = math.exp(population.log_evidence)
            note = f"; the language has {mass:.3f} of the model's mass, {size:.0f} effective texts"
        print(f"{mode:>10}: {shares(results, texts)}{note}")


def main(count: int = 300) -> None:
    print("00000 | 1[01]{4}, where the truth is 0.000009% 00000")
    compare(gw.Model(FakeModel(BITS, skewed)), "0", gw.Regex("00000|1[01]{4}"), ["00000"], count)
    model = gw.load("smollm2-135m")
    truth = model.choose(PROMPT, WORDS)
    print(PROMPT)
    print("     truth: " + ", ".join(f"{word.strip()} {p:.1%}" for word, p in truth.items()))
    compare(model, PROMPT, gw.Choice(WORDS), WORDS, count)


if __name__ == "__main__":
    main()
