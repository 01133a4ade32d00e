"""The benchmark of tables: its loops draw the same texts, and its figures are those of each."""

import contextlib
import gc
import json
import weakref
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from benchmarks import tables
from benchmarks.commands import run

SMALL = ("--width", "700", "--layers", "1", "--hidden", "16", "--steps", "2", "--rounds", "2")
CPU = torch.device("cpu")


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["tables", *SMALL, *arguments])
    return int(done.value.code or 0)


def test_there_is_a_line_for_each_loop_and_size(capsys) -> None:
    assert left("--batch", "1", "--batch", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == tables.HEAD
    loops = ("free", "tables", "masks")
    assert [tuple(line.split()[:2]) for line in lines[1:]] == [
        (rows, loop) for rows in ("1", "3") for loop in loops
    ]


def test_a_device_that_is_not_there_is_told(capsys) -> None:
    assert left("--device", "banana") == 1
    assert "device 'banana' cannot be used here" in capsys.readouterr().err


def test_figures_are_json_too(capsys) -> None:
    assert left("--batch", "2", "--json") == 0
    free, *others = json.loads(capsys.readouterr().out)
    assert (free["loop"], free["constraint"], free["share"]) == ("free", 0, 0)
    for figure in others:
        assert figure["constraint"] == pytest.approx(figure["step"] - free["step"])
        assert figure["share"] == pytest.approx(figure["step"] / free["step"] - 1)


def test_tables_and_masks_choose_the_same_tokens() -> None:
    constraint = tables.compiled(tables.made_vocabulary(700))
    forward = tables.Forward(700, 1, 16, CPU)
    asking = tables.Masks(constraint, forward, 3)
    asking._tokens.copy_(torch.tensor([1, 5, 9]))
    kinds = [tables.on_device(constraint, 3, CPU, anew=True) for _ in range(1)]
    tokens = [asking._tokens.clone() for _ in kinds]
    plain = partial(tables._tables, forward, tokens[0], kinds[0])
    states = [constraint.start()] * 3
    ended = 0
    for _ in range(120):
        for step in (asking, plain):
            step()
        chosen = asking._tokens.tolist()
        assert [each.tolist() for each in tokens] == [chosen]
        for row, token in enumerate(chosen):
            if token in constraint.vocabulary.eos_ids:
                assert constraint.accepts(states[row])
                states[row] = constraint.start()
                ended += 1
            else:
                states[row] = constraint.advance(states[row], token)  # or it is refused here
    assert ended, "a text ends, and another one begins"


def test_what_a_graph_reads_lives_as_long_as_the_graph(monkeypatch) -> None:
    replayed = list[int]()
    stream = SimpleNamespace(wait_stream=lambda other: None, cuda_stream=0)
    graph = SimpleNamespace(replay=lambda: replayed.append(1))
    for name, stand_in in {
        "Stream": lambda device: stream,
        "current_stream": lambda device: stream,
        "stream": contextlib.nullcontext,
        "CUDAGraph": lambda: graph,
        "graph": lambda graph, **_: contextlib.nullcontext(),
        "graph_pool_handle": lambda: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    read = torch.zeros(3)
    loop = tables.captured(partial(torch.Tensor.add_, read, 1), torch.device("cuda"))
    place = weakref.ref(read)
    del read
    gc.collect()
    kept = place()
    assert kept is not None, "a graph knows an address alone"
    done = int(kept[0])
    loop()
    assert (int(kept[0]), replayed) == (done, [1]), "a graph runs in the step's stead"


def test_the_vocabulary_has_every_byte_and_no_spelling_twice() -> None:
    vocabulary = tables.made_vocabulary(5000)
    assert vocabulary.width == len(set(vocabulary.tokens)) == 5000
    assert vocabulary.closed
