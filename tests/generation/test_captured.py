"""Captured steps give what the same batch gives step by step: the oracle is the loop of `step`.

Here, what a graph would launch runs as it is; `tests/gpu/test_captured.py` captures graphs.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import guideway as gw
from captured_cases import (
    DRAWN,
    EXPRESSIONS,
    MARKS,
    PROMPTS,
    SETTINGS,
    SOURCES,
    Counted,
    both,
    model,
    results,
)
from guideway.generation import captured
from guideway.generation.captured import STRATEGIES
from guideway.generation.ensemble import frames

TESTS = Path(__file__).parent.parent
PAIRS = [  # every setting with half of the sources
    (how, source)
    for n, how in enumerate(SETTINGS)
    for m, source in enumerate(SOURCES)
    if (n + m) % 2 == 0
]


ONLY = Counted()  # frames are kept as long as the models, and count where they were made


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    ONLY.frames = ONLY.launches = 0
    monkeypatch.setitem(STRATEGIES, "cpu", ONLY.capture)
    return ONLY


def calls(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> list[int]:
    """A list that grows with each call of a method."""
    seen, plain = list[int](), getattr(kind, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append(1)
        return plain(*args, **kwargs)

    monkeypatch.setattr(kind, name, noted)
    return seen


@pytest.mark.parametrize(("how", "source"), PAIRS)
def test_settings_and_constraints(counted: Counted, how: str, source: str):
    both(model("one"), SOURCES[source], **SETTINGS[how])
    if how in ("greedy", "sampled"):
        both(model("one", "gpt2"), SOURCES[source], **SETTINGS[how])  # absolute positions
    assert counted.launches > 0


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(counted: Counted, name: str):
    for kinds in (("type", "free", "type"), ("regex", "free", "recursive")):
        both(model(name), [SOURCES[kind] for kind in kinds], **DRAWN)
    assert counted.launches > 0


@pytest.mark.parametrize("mark", MARKS)
def test_watermarks(counted: Counted, mark: str):
    for source in ("free", "regex"):
        both(model("one").watermarked(MARKS[mark]), SOURCES[source], max_new_tokens=20, **DRAWN)
    assert counted.launches > 0


def test_whole_steps_are_read_seldom(counted: Counted, monkeypatch: pytest.MonkeyPatch):
    reads = calls(monkeypatch, captured.Board, "read")
    forwards = sum(results(model("one"), None)[n].stats.forwards for n in (0,))
    assert len(reads) * captured.STEPS <= counted.launches + captured.STEPS
    assert counted.launches == forwards - 1  # the first token is drawn after the prompt


def test_a_token_that_a_limit_refuses_is_drawn_again(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
):
    moves = calls(monkeypatch, captured.Captured, "_move")
    found = both(model("one"), gw.Regex("[a-z]{3,40}!"), max_new_tokens=20)
    assert any(each.shortened for each in found)
    assert len(moves) > 1


def test_frames_grow_with_the_text_and_shrink_with_the_batch(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(captured, "ROOM", 8)
    begun = calls(monkeypatch, captured.Captured, "_found")
    both(model("one"), SOURCES["recursive"], num_return_sequences=2, max_new_tokens=40, **DRAWN)
    both(model("one"), None, max_new_tokens=40)
    assert len(begun) > 3


def test_a_frame_serves_other_settings_and_constraints_of_its_size(counted: Counted):
    own = model("maximum")
    both(own, gw.Choice(["1234567890 1234567890"]), temperature=0.7, seed=1)
    before = counted.frames
    both(own, gw.Choice(["0987654321 0987654321"]), temperature=1.3, seed=2)
    assert counted.frames == before


@pytest.mark.parametrize("how", ["cleared", "too large", "one too many"])
def test_frames_are_bounded_and_can_be_freed(
    counted: Counted, how: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(frames, "MOST_BYTES", 1 if how == "too large" else 1 << 30)
    monkeypatch.setattr(frames, "KEPT", 1)
    own = gw.Model(model("one").language_model)
    sizes = [1, 2, 1] if how == "one too many" else [1, 1]
    for count in sizes:
        own.generate(["x"] * count, gw.Choice(["12345 67890 12345"]), max_new_tokens=20)
        if how == "cleared":
            gw.clear_cache()
    assert counted.frames == len(sizes)


def test_what_rows_have_read_is_kept_for_later_prompts(counted: Counted):
    own = model("one")
    talk = "A long beginning that is read once, and then known. "
    gw.clear_cache()
    text = own.generate(talk, max_new_tokens=20, speculate="off").text
    again = own.generate(talk + text + " More.", max_new_tokens=3)
    assert again.stats.cached_tokens > len(talk) / 2
    del STRATEGIES["cpu"]
    assert own.generate(talk + text + " More.", max_new_tokens=3).tokens == again.tokens


def test_streams_give_the_same_parts(counted: Counted, monkeypatch: pytest.MonkeyPatch):
    def parts() -> list[str]:
        stream = model("one").stream("Go", SOURCES["type"], max_new_tokens=40, **DRAWN)
        return [part.text for part in stream]

    found = parts()
    assert counted.launches > 0
    monkeypatch.setenv("GUIDEWAY_CAPTURE", "off")
    launches = counted.launches
    assert parts() == found
    assert counted.launches == launches


def test_drafts_that_are_asked_for_and_short_texts_run_step_by_step(counted: Counted):
    own = model("one")
    own.generate(PROMPTS[0], max_new_tokens=30, speculate="lookup")
    own.generate(PROMPTS[0], max_new_tokens=captured.LEAST)
    (own + gw.gedi(model("one"), model("one", "gpt2"), 1.0)).generate("x", max_new_tokens=30)
    assert counted.launches == 0
    own.generate(PROMPTS[0], max_new_tokens=30)
    assert counted.launches > 0


def test_a_step_that_cannot_be_captured_is_said_once(monkeypatch: pytest.MonkeyPatch):
    def fails(work: Any, device: torch.device) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    own = 0.5 * model("one")
    monkeypatch.setitem(STRATEGIES, "cpu", fails)
    with pytest.warns(gw.GuidewayWarning, match="cannot be captured, so they run one by one"):
        both(own, SOURCES["regex"], **DRAWN)
    both(own, SOURCES["regex"], **DRAWN)


def test_logits_that_are_no_numbers_fail_their_row_alone(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
):
    plain = captured.Frame.forward

    def broken(self: captured.Frame) -> Any:
        made = {leaf: rows.clone() for leaf, rows in plain(self).items()}
        if counted.launches > 3:
            for rows in made.values():
                rows[1:2].fill_(torch.nan)
        return made

    monkeypatch.setattr(captured.Frame, "forward", broken)
    found = results(model("one"), None)
    assert [each.finish_reason for each in found] == ["length", "error", "length"]
    assert "NaN or infinite logits at step" in str(found[1].error)


class Asked(TorchDispatchMode):
    """Counts what would make the host wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        waits = ("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero")
        self.count += func.overloadpacket._qualified_op_name in waits
        return func(*args, **(kwargs or {}))


def test_a_whole_step_asks_the_host_for_nothing(monkeypatch: pytest.MonkeyPatch):
    for name in ("rows", "filters", "penalties"):  # as on a GPU
        monkeypatch.setattr(f"guideway.logits.{name}.asks", lambda device: False)
    asked = Asked()

    def capture(work: Any, device: torch.device) -> Any:
        def launch() -> None:
            with asked:
                work()

        return launch

    monkeypatch.setitem(STRATEGIES, "cpu", capture)
    for how in ("greedy", "filters", "others"):
        results(model("one"), SOURCES["regex"], **SETTINGS[how])
    results(model("three"), [None, SOURCES["regex"], None], **DRAWN)
    assert asked.count == 0
    with asked:
        float(torch.ones(1)[0])
    assert asked.count == 1


COMPILED = """
import torch
from guideway.generation.captured import STRATEGIES
from captured_cases import DRAWN, MARKS, SETTINGS, SOURCES, both, model

def compiled(work, device=None):
    return torch.compile(work, fullgraph=True, dynamic=False, backend="eager")

STRATEGIES["cpu"] = compiled
both(model("one"), None)
both(model("one", "gpt2"), SOURCES["regex"], **SETTINGS["filters"])
both(model("one"), SOURCES["recursive"], **DRAWN)
both(model("three"), SOURCES["regex"], **DRAWN)
both(model("maximum"), SOURCES["type"])
both(model("one").watermarked(MARKS["left"]), SOURCES["regex"], **DRAWN)
"""


@pytest.mark.slow  # two minutes of torch's compiler
def test_a_compiler_makes_whole_steps_one_graph():
    """`fullgraph` refuses whatever asks the host; without the hooks that check shapes."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILED], cwd=TESTS, check=False, timeout=900
    )
    assert done.returncode == 0
