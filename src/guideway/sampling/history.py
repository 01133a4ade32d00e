"""History of a row, as a value: everything besides logits that the next token depends on.

Counts, repeated sequences and mirostat's ceiling are here. Histories can be kept and shared, which
beams and drafts need. The time of a step depends on the length of the text, not on the vocabulary.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from guideway.sampling.endings import NONE, Endings
from guideway.sampling.repeats import Penalties, Repeats, completing
from guideway.sampling.rules import Rules
from guideway.sampling.trail import Ids, Trail

EMPTY: Final = Trail([])


@final
@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The tokens of a prompt and of the text after it.

    Attributes:
        tokens: all tokens.
        prompt: number of prompt tokens.
        seen: tokens of prompt and text; those of the prompt once.
        tail: last bytes of the text.
        repeats: lengths of repeated sequences; None if unused.
        ceiling: mirostat's, in bits.
        joint: bytes before the text that are not part of it.
        taken: remaining prompt tokens that spell the joint, which bad words do not forbid.
    """

    rules: Rules
    tokens: Trail
    prompt: int
    seen: Trail
    tail: bytes
    repeats: Repeats | None
    ceiling: float
    joint: bytes
    taken: tuple[int, ...] = ()

    @classmethod
    def begin(
        cls,
        rules: Rules,
        prompt: Sequence[int],
        joint: bytes = b"",
        taken: tuple[int, ...] = (),
    ) -> "History":
        """The history of an empty text after `prompt` and `joint`, which `taken` spelled."""
        if not rules.remembers:
            return cls(rules, EMPTY, 0, EMPTY, b"", None, 0.0, b"")
        tokens = Trail(prompt)
        repeats = None
        if rules.sampling.dry_multiplier:
            broken = list[bool]()
            tail = b""
            for token in prompt:
                breaks, tail = _reading(rules, tail, token)
                broken.append(breaks)
            repeats = Repeats.of(tokens.ids, broken)
        ids = np.unique(tokens.ids)
        seen = Trail(ids[ids < rules.vocabulary.width])
        ceiling = 2.0 * rules.sampling.mirostat_tau
        return cls(rules, tokens, len(prompt), seen, b"", repeats, ceiling, joint, taken)

    def after(self, token: int, surprise: float | None = None) -> "History":
        """The history with one more token.

        `surprise` is in bits, for mirostat; None without it, or if only one token was allowed.
        """
        if not self.rules.remembers:
            return self
        breaks, tail = _reading(self.rules, self.tail, token)
        repeats = self.repeats
        if repeats is not None:
            repeats = repeats.after(self.tokens.ids, token, breaks=breaks)
        ceiling = self.ceiling
        if surprise is not None:
            sampling = self.rules.sampling
            ceiling -= sampling.mirostat_eta * (surprise - sampling.mirostat_tau)
        return replace(
            self,
            tokens=self.tokens.append(token),
            seen=self.seen.append(token),
            tail=tail,
            repeats=repeats,
            ceiling=ceiling,
            taken=self.taken[1:] if self.taken[:1] == (token,) else (),
        )

    @property
    def generated(self) -> Ids:
        """The tokens of the text."""
        return self.tokens.ids[self.prompt :]

    @property
    def text(self) -> str:
        """The text; a character that is not complete is held back."""
        known = self.rules.vocabulary.tokens
        data = b"".join(known[int(token)] or b"" for token in self.generated)
        return codecs.getincrementaldecoder("utf-8")("replace").decode(
            data.removeprefix(self.joint)
        )

    def biases(self) -> dict[int, float]:
        """Sum of the biases of each token that completes something here.

        Constant biases (`rules.bias.always`) are included in these sums, but tokens with only those
        are omitted.
        """
        # Spelling the text takes longer than the rest, and only a function needs it.
        reads = callable(self.rules.sampling.logit_bias)
        moving = self.rules.bias_after(self.text) if reads else None
        found = dict[int, np.float32]()
        for endings in (self.rules.bias, moving):
            if endings is not None:
                for ids, value in endings.completed(self.tokens.ids, self.tail):
                    _add(found, ids, value)
        if moving is not None:
            for ids, value in moving.always:
                _add(found, ids, value)
        if found:
            total = dict[int, np.float32]()
            for ids, value in self.rules.bias.always:
                _add(total, ids[np.isin(ids, list(found))], value)
            for token, value in found.items():
                total[token] = total.get(token, np.float32(0)) + value
            found = total
        return {token: float(value) for token, value in found.items()}

    def bad_words(self) -> Ids:
        """The tokens that would complete a bad word, those that always do left out."""
        return _joined(self.rules.words, self.tokens.ids, self.tail)

    def repeated_ngrams(self) -> Ids:
        """The tokens with which a sequence of `no_repeat_ngram_size` would come again."""
        size = self.rules.sampling.no_repeat_ngram_size
        return completing(self.tokens.ids, size) if size else NONE

    def dry(self) -> tuple[Ids, Penalties]:
        """Tokens that continue a repeated sequence, and their penalties; ends of texts never."""
        if self.repeats is None:
            return NONE, np.zeros(0)
        sampling = self.rules.sampling
        ids, penalties = self.repeats.penalties(
            self.tokens.ids,
            multiplier=sampling.dry_multiplier or 0,
            base=sampling.dry_base,
            allowed=sampling.dry_allowed_length,
        )
        kept = (ids < self.rules.vocabulary.width) & ~np.isin(
            ids, list(self.rules.vocabulary.eos_ids)
        )
        return ids[kept], penalties[kept]


def _reading(rules: Rules, tail: bytes, token: int) -> tuple[bool, bytes]:
    """Return True if a breaker ends in `token`, and the new last bytes."""
    known = rules.vocabulary.tokens
    spelled = (known[token] if token < len(known) else None) or b""
    breaks = False
    for breaker in rules.breakers:
        before = tail[len(tail) - min(len(tail), len(breaker) - 1) :]
        breaks = breaks or breaker in before + spelled
    data = tail + spelled
    return breaks, data[max(0, len(data) - rules.reach) :]


def _add(sums: dict[int, np.float32], ids: Ids, value: float) -> None:
    """Add in float32, as transformers does."""
    for token in ids.tolist():
        sums[token] = sums.get(token, np.float32(0)) + np.float32(value)


def _joined(endings: Endings, ids: Ids, tail: bytes) -> Ids:
    groups = [tokens for tokens, _ in endings.completed(ids, tail)]
    return np.concatenate(groups) if groups else NONE
