"""Blockwise heads: small networks that guess tokens beyond the next one from a hidden state.

    last hidden state h ─▶ h + SiLU(W·h + b) ─▶ output embedding of the model ─▶ logits

Head k has its own W and b, and guesses the k-th token after the next one (Stern et al. 2018, arXiv
1811.03115; the block of Medusa, Cai et al. 2024, arXiv 2401.10774). Heads know the tokens of their
training texts only. So they use few rows of the output embedding, and a draft costs little.
"""

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, linear, silu

from guideway.errors import ModelError
from guideway.generation.drafts import Walk
from guideway.generation.row.sequence import Sequence
from guideway.models.protocol import NO_DRAFT, Draft, VariedModel

FACTS, TENSORS = "heads.json", "heads.safetensors"
STEPS: Final = 600  # of training, at least
PASSES: Final = 12  # over the training texts, at least
AT_ONCE: Final = 256  # states in a step
RATE: Final = 3e-3
NONE: Final = -100  # no token: the text ends before


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """Heads in float32; `output` is the model's output embedding of `tokens`, and their biases."""

    weights: Float[Tensor, "heads hidden hidden"]
    biases: Float[Tensor, "heads hidden"]
    tokens: Int[Tensor, "tokens"]
    output: tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "tokens"]]

    @classmethod
    def train(
        cls,
        model: VariedModel[Any],
        texts: Listed[tuple[Listed[int], int]],
        adapter: Any,
        count: int,
    ) -> "Heads":
        """Train on texts as tokens, each from an index on; the model reads each text once."""
        known = sorted({token for text, begin in texts for token in text[begin:]})
        tokens = torch.tensor(known, device=model.device)
        states, wanted = list[Tensor](), list[Tensor]()
        for text, begin in texts:
            read = list[Tensor]()
            model.prefill_varied([text], [adapter], (), read)
            ids = torch.tensor([*text[begin + 1 :]], device=model.device)
            places = torch.searchsorted(tokens, ids)
            states.append(
                read[0][begin - 1 :][: len(ids)].to(model.device)
            )  # nothing follows others
            places = torch.cat([places, places.new_full((count - 1,), NONE)])
            wanted.append(places.unfold(0, count, 1) if len(ids) else places.new_zeros(0, count))
        with torch.inference_mode(False), torch.enable_grad():
            given, places = torch.cat(states), torch.cat(wanted)
            sizes = count, given.shape[1], given.shape[1]
            weights = torch.zeros(sizes, device=model.device, requires_grad=True)
            biases = torch.zeros(sizes[:2], device=model.device, requires_grad=True)
            cls(weights, biases, tokens, model.output_rows(tokens))._fit(given, places)
        return cls(weights.detach(), biases.detach(), tokens, model.output_rows(tokens))

    def _fit(self, states: Float[Tensor, "all hidden"], wanted: Int[Tensor, "all heads"]) -> None:
        steps = max(STEPS, PASSES * len(states) // AT_ONCE)
        noise = torch.Generator().manual_seed(0)
        optimizer: Any = torch.optim.AdamW([self.weights, self.biases], RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
        for _ in range(steps):
            some = torch.randint(len(states), (AT_ONCE,), generator=noise)
            optimizer.zero_grad()
            logits = self.logits(states[some])
            loss: Any = cross_entropy(logits.flatten(0, 1), wanted[some].flatten())
            loss.backward()
            optimizer.step()
            schedule.step()

    def logits(self, states: Float[Tensor, "all hidden"]) -> Float[Tensor, "all heads tokens"]:
        """The scores of each head for each of its tokens."""
        inner = torch.einsum("nd,kod->nko", states, self.weights) + self.biases
        return linear(states[:, None] + silu(inner), *self.output)

    def save(self, folder: Path) -> None:
        """Write the folder; the output embedding stays with the model."""
        from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]

        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"weights": self.weights, "biases": self.biases, "tokens": self.tokens}
        save_file({name: each.cpu() for name, each in tensors.items()}, folder / TENSORS)
        facts = _facts(self.weights, self.tokens, self.output[0])
        (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path, model: VariedModel[Any]) -> "Heads":
        """Read the folder; a `ModelError` if it has no heads, or those of another model."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]

        try:
            facts: Any = json.loads((folder / FACTS).read_text("utf-8"))
            found: dict[str, Tensor] = load_file(folder / TENSORS, str(model.device))
            weights, biases, tokens = (found[name] for name in ("weights", "biases", "tokens"))
            if not 0 <= int(tokens.min()) <= int(tokens.max()) < model.vocabulary.width:
                tokens = tokens[:0]  # of a larger vocabulary
            output = model.output_rows(tokens)
            own = _facts(weights, tokens, output[0])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ModelError(
                f"the heads in {folder} cannot be read ({type(error).__name__}: {error}); a folder "
                f"of heads has {FACTS} and {TENSORS}, as guideway.train_heads writes them"
            ) from None
        if own != facts:
            raise ModelError(
                f"the heads in {folder} were trained for another model, or changed since: its "
                f"{FACTS} says {facts}, and for this model it must be {own}"
            )
        return cls(weights, biases, tokens, output)


def _facts(weights: Tensor, tokens: Tensor, rows: Tensor) -> dict[str, object]:
    """Sizes, and a digest of the output embedding: the same in float32 and bfloat16."""
    digest = hashlib.blake2b(tokens.cpu().numpy().tobytes(), digest_size=16)
    digest.update(rows.cpu().bfloat16().view(torch.uint8).numpy().tobytes())
    count, hidden, _ = weights.shape
    sizes = {"heads": count, "hidden": hidden, "tokens": len(tokens)}
    return {**sizes, "fingerprint": digest.hexdigest()}


class HeadsDraft:
    """Drafts of heads, from the state after the last token that the model has read.

    Under a constraint, each head takes the best of its tokens that are allowed.
    """

    seconds = 0.0  # little beside a forward

    def __init__(self, heads: Heads) -> None:
        self._heads, self._tokens = heads, cast("NDArray[np.int64]", heads.tokens.cpu().numpy())
        self._states: Mapping[int, Tensor] = {}

    def see(self, states: Mapping[int, Float[Tensor, "hidden"]]) -> None:
        """Keep the state of each row until the next forward."""
        self._states = states

    @torch.inference_mode()
    def draft(self, rows: Listed[Sequence], most: int) -> list[Draft]:
        """At most `most` tokens for each row; none for rows whose state is not known."""
        places = [n for n, row in enumerate(rows) if row.number in self._states]
        if not places:
            return [NO_DRAFT] * len(rows)
        states = torch.stack([self._states[rows[n].number] for n in places])
        logits = self._heads.logits(states.to(self._heads.weights.device)).cpu().numpy()
        drafts = {
            n: self._draft(rows[n], own[:most]) for n, own in zip(places, logits, strict=True)
        }
        return [drafts.get(n, NO_DRAFT) for n in range(len(rows))]

    def _draft(self, row: Sequence, logits: NDArray[np.float32]) -> Draft:
        walk, tokens = Walk(row.position, row.vocabulary), list[int]()
        words, bits = self._tokens >> 5, (self._tokens & 31).astype(np.uint32)
        for scores in logits[: max(0, row.most - len(row.tokens) - 1)]:
            allowed = walk.allowed()[words] >> bits & 1
            token = int(self._tokens[np.where(allowed, scores, -np.inf).argmax()])
            if not walk.take(token):  # none of the tokens is allowed
                break
            tokens.append(token)
        return Draft(tuple(tokens), tuple(("head", n) for n in range(len(tokens))))
