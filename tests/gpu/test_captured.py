"""CUDA graphs give what the same batch gives step by step on the same GPU, in float32."""

import pytest
import torch

import guideway as gw
from captured_cases import DRAWN, EXPRESSIONS, MARKS, SETTINGS, SOURCES, both, model
from elsewhere import waits
from guideway.generation import captured
from guideway.generation.captured import graphed

pytestmark = pytest.mark.gpu


def own(gpu: torch.device, name: str = "one", kind: str = "llama") -> gw.Model:
    made = model(name, kind, gpu.type)
    assert captured.captures(made._ensemble)
    return made


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_settings_and_constraints(gpu: torch.device, kind: str, how: str, source: str):
    for _ in range(2):  # captured, and then kept
        both(own(gpu, "one", kind), SOURCES[source], **SETTINGS[how])


@pytest.mark.parametrize("source", ["free", "type", "recursive"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(gpu: torch.device, name: str, source: str):
    both(own(gpu, name), SOURCES[source], **DRAWN)


@pytest.mark.parametrize("mark", MARKS)
def test_watermarks(gpu: torch.device, mark: str):
    for source in ("free", "regex"):
        both(own(gpu).watermarked(MARKS[mark]), SOURCES[source], **DRAWN)


def test_frames_grow_and_shrink(gpu: torch.device, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(captured, "ROOM", 8)
    both(own(gpu, "two"), None, max_new_tokens=60, **DRAWN)
    both(own(gpu), SOURCES["recursive"], num_return_sequences=6, max_new_tokens=60, **DRAWN)


def test_a_graph_runs_again_and_again_without_a_wait(gpu: torch.device):
    rows, expected = torch.arange(4, device=gpu), torch.arange(4)

    def work() -> None:
        rows.mul_(5).add_(1).remainder_(97)

    launch = graphed(work, gpu)
    rows.copy_(expected)
    with waits() as found:
        for _ in range(10):
            launch()
    assert found == []
    for _ in range(10):
        expected.mul_(5).add_(1).remainder_(97)
    assert torch.equal(rows.cpu(), expected)
