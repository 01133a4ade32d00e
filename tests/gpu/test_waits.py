"""What says that it does not wait for the GPU does not: torch tells of each stop of the host."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import guideway as gw
from elsewhere import waits
from guideway.generation.draw import Plan, draw
from guideway.generation.ensemble.alignment import aligned
from guideway.generation.marking import Marking
from guideway.generation.row.request import Request
from guideway.generation.row.sequence import Sequence
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.expr import Farthest, Filtered, Leaf, Node, total
from guideway.logits.mask import unpack, upload
from guideway.sampling.settings import Sampling
from guideway.watermark.scheme import Scheme

pytestmark = pytest.mark.gpu

ROWS, WIDTH = 4, 5000
VOCABULARY = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], {256}, width=WIDTH)
MAIN, OTHER, THIRD = (Leaf(name, name) for name in ("main", "other", "third"))
EXPRESSIONS: dict[str, Node] = {
    "one": MAIN,
    "sum": total([(1, Filtered("plausible", MAIN, 0.1)), (-0.5, OTHER)]),
    "dola": total([(1, MAIN), (-1, Farthest(MAIN, (OTHER, THIRD)))]),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "drawn": {"temperature": 0.8, "seed": 1},
    "min-p": {"temperature": 0.8, "min_p": 0.05, "seed": 1},
    "usual chain": {"temperature": 0.8, "top_k": 50, "top_p": 0.95, "seed": 1},
    "nuclei": {"top_p": 0.9, "typical_p": 0.9, "top_h": 0.9, "seed": 1},
    "cutoffs": {"epsilon_cutoff": 1e-4, "eta_cutoff": 1e-4, "top_n_sigma": 2.0, "seed": 1},
    "penalties": {"repetition_penalty": 1.2, "presence_penalty": 0.5, "dry_multiplier": 0.8},
    "words": {"bad_words_ids": ["x"], "logit_bias": {97: 1.0}},
    "n-grams": {"no_repeat_ngram_size": 2},
}


def sequences(settings: dict[str, Any]) -> list[Sequence]:
    """Rows that have had some tokens."""
    request = Request((1, 2), None, Sampling(**settings, max_new_tokens=50))
    rows = [Sequence(number, request, VOCABULARY, 50) for number in range(ROWS)]
    for number, row in enumerate(rows):
        assert all(row.take(token, -1.0, 0.0) for token in (97, 98, 97, 98 + number))
    return rows


def leaves(device: torch.device) -> dict[Leaf, Tensor]:
    noise = torch.Generator().manual_seed(0)
    made = {leaf: torch.randn(ROWS, WIDTH, generator=noise) for leaf in (MAIN, OTHER, THIRD)}
    return {leaf: each.to(device) for leaf, each in made.items()}


def stops(work: Callable[[], object]) -> list[str]:
    """Where it waits, once everything is there that is made once."""
    work()
    torch.cuda.synchronize()
    with waits() as found:
        work()
    return found


def step(gpu: torch.device, node: Node, settings: dict[str, Any], mark: Scheme | None) -> Any:
    """A function for what follows the forward of a step."""
    rows, logits = sequences(settings), leaves(gpu)
    plan = Plan.of([row.request for row in rows], [row.history for row in rows], gpu)

    def work() -> object:
        allowed = unpack(upload([row.row() for row in rows], WIDTH, gpu), WIDTH)
        marking = mark and Marking.of(mark, rows, VOCABULARY, gpu)
        made = evaluate(node, Step(logits, allowed, VOCABULARY))
        histories, steps = [row.history for row in rows], [len(row.tokens) for row in rows]
        return draw(made, allowed, plan, histories, steps, None, marking)

    return torch.inference_mode()(work)


def test_what_waits_is_told(gpu: torch.device) -> None:
    number = torch.ones(3, device=gpu)
    assert len(stops(lambda: float(number[0]))) == 1
    assert len(stops(lambda: torch.tensor([1, 2], device=gpu))) == 1
    assert stops(lambda: number + 1) == []


MARKS: list[tuple[str, str, Any]] = [
    ("one", "drawn", kind) for kind in ("left", "min", "unigram", "synthid", "gumbel")
]


@pytest.mark.parametrize(
    ("name", "how", "kind"),
    [*((name, how, None) for name in EXPRESSIONS for how in SETTINGS), *MARKS],
)
def test_a_step_waits_once_for_its_tokens(
    gpu: torch.device, name: str, how: str, kind: Any
) -> None:
    scheme = kind and Scheme(secret=1, kind=kind, context=0 if kind == "unigram" else 2)
    found = stops(step(gpu, EXPRESSIONS[name], SETTINGS[how], scheme))
    assert len(found) == 1, found


def test_masks_and_other_vocabularies_wait_for_nothing(gpu: torch.device) -> None:
    packed = [np.full(-(-WIDTH // 32), 5, np.uint32)] * ROWS
    assert stops(lambda: unpack(upload(packed, WIDTH, gpu), WIDTH)) == []
    other = gw.Vocabulary([b"<e>", *(bytes([b]) for b in range(256)), b"<f>"], {0, 257})
    alignment, given = aligned(VOCABULARY, other), torch.randn(ROWS, 258).to(gpu)
    assert stops(lambda: alignment.logits(given)) == []
