"""Guidance in transformers' loop: an expression whose running model is one leaf.

transformers computes the scores of this leaf; the other leaves run here as one batch with a cache.
The cache has the rows of the last call, by their tokens: reordered rows are selected, rows with one
more token are extended, all others are read from the beginning. So nothing depends on the order of
calls. Drafts and prompts without tokens are refused.

A watermark would act where `scores` returns.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from guideway.api.jobs import read_prompts
from guideway.api.model import Model, as_model
from guideway.api.prompts import Prompt, split_prompts
from guideway.errors import ModelError, SourceError, UnsupportedError
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits, Prompts, reading
from guideway.generation.ensemble.views import LastToken, Reading
from guideway.integrations.transformers_call import Call
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.expr import GediTerm, Guided, Leaf, walk
from guideway.logits.rescore import TextContext
from guideway.vocabulary.vocabulary import Vocabulary

Tokens = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """The rows that the other leaves have read."""

    keys: list[bytes]  # each row's padding and tokens
    cache: EnsembleCache  # the models' caches of these rows
    logits: Logits  # logits of each leaf after them


class Guidance:
    """An expression with the caches of the leaves that transformers does not run."""

    def __init__(self, model: Model, prompts: Any = None) -> None:
        """Check the arguments; `prompts` are texts or messages, one for each row of a batch."""
        as_model(model, "guidance")
        self._ensemble = Ensemble(model.node)
        self._prompts = None if prompts is None else split_prompts(prompts)[0]
        self.vocabulary: Vocabulary = self._ensemble.vocabulary
        self._beside: dict[Leaf, Ensemble] = {}
        self._read: _Read | None = None
        self._lock = threading.Lock()
        terms = [t for node in walk(model.node) if isinstance(node, Guided) for t in node.terms]
        self._asks = any(not isinstance(term, GediTerm) and term.prompt for term in terms)

    def scores(self, call: Call, tokens: Tokens, scores: Tensor, allowed: Tensor) -> Tensor:
        """Values of the expression, −∞ for forbidden tokens.

        They are log-probabilities before the constraint, because beams add them up. `scores` and
        `allowed` are [rows, vocabulary], `tokens` is [rows, tokens].
        """
        leaf = self._leaf(call)
        beside = self._beside.setdefault(leaf, self._ensemble.beside(leaf))
        model = reading(leaf).model
        alignment = next(b.alignment for b in self._ensemble.backbones if b.model is model)
        given = scores if alignment is None else alignment.logits(scores)
        with self._lock:
            found = self._logits_after(leaf, call, tokens)
        read = {leaf: given.to(beside.device), **found.logits}
        texts = self._texts(call, tokens) if self._ensemble.reads_texts else ()
        joined = allowed.to(beside.device)
        if alignment is not None:
            joined = self._joined_ends(joined)
        step = Step(read, joined, self.vocabulary, texts)
        rows = evaluate(self._ensemble.node, step)
        total = rows.total()
        if bool((total.isnan() | total.isposinf()).any()):
            raise ModelError("a model of the expression gave NaN or infinite logits")
        values = (rows.closed(joined) - total[:, None]).masked_fill(given == -torch.inf, -torch.inf)
        if alignment is not None:
            values = self._stopping(values, call)
        return values.to(scores.device)

    def _leaf(self, call: Call) -> Leaf:
        if call.model is None or call.prompt is None:
            raise UnsupportedError(
                "guidance needs the prompts, and only a running generate of transformers has them",
                feature="guidance in another loop",
            )
        if call.drafted:
            raise UnsupportedError(
                "guidance does not work with assisted decoding: each drafted token would run all "
                "other leaves. Leave assistant_model and prompt_lookup_num_tokens out",
                feature="guidance in assisted decoding",
            )
        if not call.whole:
            raise UnsupportedError(
                "guidance needs the tokens of the whole prompt: it does not work with "
                "inputs_embeds, an encoder, or a cache of a part of the prompt",
                feature="guidance without the prompt's tokens",
            )
        for leaf in self._ensemble.leaves:
            found = reading(leaf)
            plain = found == Reading(found.model, found.reader)
            if plain and getattr(found.model, "module", None) is call.model:
                if found.model.vocabulary != self.vocabulary:
                    break
                return leaf
        names = ", ".join(leaf.name for leaf in self._ensemble.leaves)
        raise UnsupportedError(
            f"the running model is not a leaf of the expression ({names}), or not a plain one with "
            "the vocabulary of the first: build the expression on guideway.load(model, tokenizer)",
            feature="guidance by other models alone",
        )

    def _logits_after(self, leaf: Leaf, call: Call, tokens: Tokens) -> _Read:
        """The logits of the other leaves after these rows."""
        beside = self._beside[leaf]
        marks = [np.packbits(mask).tobytes() for mask in _real(call)]
        keys = [mark + row.tobytes() for mark, row in zip(marks, tokens, strict=True)]
        before = [mark + row[:-1].tobytes() for mark, row in zip(marks, tokens, strict=True)]
        last, self._read = self._read, None  # an extended cache cannot be used again
        places = {} if last is None else {key: place for place, key in enumerate(last.keys)}
        known = self._readable(beside, call, tokens[:, call.start :])
        if last is not None and all(key in places for key in keys):
            rows = [places[key] for key in keys]
            logits = {leaf: row[rows] for leaf, row in last.logits.items()}
            made = _Read(keys, beside.select(last.cache, rows), logits)
        elif last is not None and all(key in places for key in before):
            rows = [places[key] for key in before]
            same = rows == list(range(len(last.keys)))
            cache = last.cache if same else beside.select(last.cache, rows)
            made = _Read(keys, *_extended(beside, cache, known[:, -1:]))
        else:
            cache, logits = beside.prefill(self._contexts_of(leaf, call, tokens))
            if known.shape[1]:
                cache, logits = _extended(beside, cache, known)
            made = _Read(keys, cache, logits)
        self._read = made
        return made

    def _readable(self, beside: Ensemble, call: Call, text: Tokens) -> Tensor:
        """The texts' tokens; tokens after the end that a model lacks are replaced."""
        alignments = [each.alignment for each in beside.backbones if each.alignment is not None]
        lacking = np.zeros(self.vocabulary.width, np.bool_)
        for alignment in alignments:
            lacking |= (alignment.ids < 0).numpy()
        ends = list(self.vocabulary.eos_ids | (call.ends or frozenset()))
        over = np.isin(text, ends).cumsum(1) > 0
        if call.unfinished is not None:
            over |= ~np.array(call.unfinished)[:, None]
        filler = next(t for t, spelled in enumerate(self.vocabulary.tokens) if spelled)
        return torch.as_tensor(np.where(over & lacking[text], filler, text), device=beside.device)

    def _contexts_of(self, leaf: Leaf, call: Call, tokens: Tokens) -> list[Prompts]:
        """The tokens that each context of each row reads before the text."""
        made: dict[tuple[int, bytes], Prompts] = {}
        each = list[Prompts]()
        real = _real(call)
        for row, whole in enumerate(tokens[:, : call.start]):
            prompt = whole[real[row]]
            key = (row // call.copies, prompt.tobytes())
            if key not in made:
                made[key] = self._contexts(leaf, call, row // call.copies, prompt)
            each.append(made[key])
        return each

    def _contexts(self, leaf: Leaf, call: Call, place: int, prompt: Tokens) -> Prompts:
        said = self._given_prompt(call, place)
        main = tuple(prompt.tolist())
        if not main:
            raise UnsupportedError(
                f"prompt {place} is empty: the other models need at least one token",
                feature="guidance after an empty prompt",
            )
        if said is not None:
            found = [each.tokens for each in read_prompts(self._ensemble, said)]
            if main != found[self._ensemble.contexts.index(reading(leaf).context)]:
                raise SourceError(
                    f"prompts[{place}] does not match the prompt of generate: its tokens are "
                    f"{found[0][:8]}…, and generate reads {main[:8]}…"
                )
            return tuple(found)
        parts: list[tuple[int, ...]] = [()] * len(self._ensemble.contexts)
        for backbone in self._beside[leaf].backbones:
            own = torch.tensor(main)
            own = own if backbone.alignment is None else backbone.alignment.tokens(own)
            for context in backbone.contexts:
                views = self._ensemble.contexts[context].views
                if any(not isinstance(view, LastToken) for view in views):
                    raise UnsupportedError(
                        "a model of the expression has another prompt, which needs the texts: give "
                        "the prompts as texts or messages, prompts=[…]",
                        feature="prompted leaf without prompts=",
                    )
                read = own[-1:] if views else own
                parts[context] = tuple(cast("list[int]", read.tolist()))  # pyright: ignore[reportUnknownMemberType]
        return tuple(parts)

    def _given_prompt(self, call: Call, place: int) -> Prompt | None:
        if self._prompts is None:
            return None
        if len(self._prompts) != call.given:
            raise SourceError(
                f"prompts= has {len(self._prompts)} prompts, and generate has {call.given}"
            )
        return self._prompts[place]

    def _texts(self, call: Call, tokens: Tokens) -> list[TextContext]:
        if self._asks and self._prompts is None:
            raise UnsupportedError(
                "a classifier reads the prompt as text: give it as prompts=[…]",
                feature="classifier of prompts without prompts=",
            )
        each = list[TextContext]()
        for row, whole in enumerate(tokens):
            said = self._given_prompt(call, row // call.copies)
            text = [token for token in whole[call.start :].tolist() if token not in self._ends]
            each.append(
                TextContext.of(text, self.vocabulary, said if isinstance(said, str) else "")
            )
        return each

    @property
    def _ends(self) -> Sequence[int]:
        return sorted(self.vocabulary.eos_ids)

    def _joined_ends(self, allowed: Tensor) -> Tensor:
        """`allowed` with all ends at the first end id: several models know one end only."""
        ends = self._ends
        if len(ends) < 2:
            return allowed
        joined = allowed.clone()
        joined[:, ends[0]] = allowed[:, ends].any(1)
        return joined

    def _stopping(self, values: Tensor, call: Call) -> Tensor:
        """The values with the end at an id where generate stops."""
        ends = self._ends
        stops = (call.ends or frozenset()) & self.vocabulary.eos_ids
        if not stops or ends[0] in stops:
            return values
        stop = min(stops)
        values[:, stop] = torch.maximum(values[:, stop], values[:, ends[0]])
        values[:, ends[0]] = -torch.inf
        return values


def _extended(
    beside: Ensemble, cache: EnsembleCache, tokens: Tensor
) -> tuple[EnsembleCache, Logits]:
    longer, logits = beside.extend(cache, tokens)
    return longer, {leaf: row[:, -1] for leaf, row in logits.items()}


def _real(call: Call) -> NDArray[np.bool_]:
    """The tokens of each row's prompt that are no padding."""
    if call.attention is None:
        return np.ones((call.rows, call.start), np.bool_)
    return call.attention[:, : call.start].bool().cpu().numpy()
