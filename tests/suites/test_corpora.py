"""The frozen corpora: what is written of an item, and what a comparison lists."""

import subprocess
import sys
from pathlib import Path

import pytest

import corpora
from corpora_items import items

WELL = {"kind": "k", "name": "n", "states": "...i", "first": 1.0, "steps": [1.0], "masks": "00" * 8}


def test_items_have_names_of_their_own():
    found = items()
    assert len({(item.kind, item.name) for item in found}) == len(found)
    assert {item.kind for item in found} > {"suite", "regex", "grammar", "type", "python"}


# In a process of its own: it forks, and the tests' process has threads.
SCRIPT = """
import argparse, os, pathlib, signal, sys
import corpora, guideway as gw
from corpora_items import Item

TEXTS = [("a", True), ("b", False), ("ab", False), ("aa", False)]

def endless():
    while True:
        os.times()

found = [
    Item("k", "right", lambda: (gw.Regex("a"), TEXTS)),
    Item("k", "wrong", lambda: (gw.Regex("ab?|c"), TEXTS)),
    Item("k", "refused", lambda: (gw.Regex("a("), TEXTS)),
    Item("k", "foreign", lambda: 1 / 0),
    Item("k", "endless", endless),
    Item("k", "crash", lambda: os.kill(os.getpid(), signal.SIGKILL)),
    Item("k", "last", lambda: (gw.Regex("b"), [])),
]
options = argparse.Namespace(processes=2, limit=2, note="n")
corpora.write(pathlib.Path(sys.argv[1]), found[:3], options)
corpora.write(pathlib.Path(sys.argv[1]), found, options)  # goes on
"""


def test_each_item_gets_a_line_even_where_its_process_ends(tmp_path):
    out = tmp_path / "out.jsonl"
    here = Path(corpora.__file__).parent
    subprocess.run([sys.executable, "-c", SCRIPT, str(out)], cwd=here, check=True, timeout=300)
    assert len(out.read_text().splitlines()) == 1 + 7
    run, lines = corpora.read(out)
    assert run["note"] == "n"
    states = {line["name"]: line["states"] for line in lines.values()}
    assert states == {
        "right": ".....", "wrong": "...U.", "refused": "x", "foreign": "!", "endless": "?",
        "crash": "?", "last": ".",
    }  # fmt: skip
    assert "used up its time" in lines["k endless"]["error"]
    assert len(lines["k right"]["masks"]) == 2 * 8  # before and after one token
    assert len(lines["k right"]["steps"]) == 4  # each text is one token
    assert corpora.compare(lines, lines) == [
        "foreign exceptions: 1 items\n    k foreign: ZeroDivisionError: division by zero"
    ]
    assert corpora.totals(lines)[0].startswith(
        "k                 8 right, 7 items, 2 process ended"
    )


@pytest.mark.parametrize(("change", "said"), [
    ({}, None),
    ({"first": 9e9, "steps": [], "error": "other words"}, None),
    ({"states": "x", "error": "E: no"}, "right → refused when compiling: 1 items\n    k n: E: no"),
    ({"states": ".U.i"}, "right → invalid accepted: 1 items\n    k n"),
    ({"states": "...."}, "valid rejected → right: 1 items\n    k n"),
    ({"states": "..."}, "valid rejected → no such text: 1 items\n    k n"),
    ({"masks": "0" * 15 + "1"}, "other masks: 1 items\n    k n (from token 1)"),
])  # fmt: skip
def test_differences_are_listed_by_kind(change, said):
    found = corpora.compare({"k n": WELL}, {"k n": WELL | change})
    assert (said in found) if said else found == []


def test_items_of_one_side_are_listed():
    assert corpora.compare({"k n": WELL}, {}) == ["only before: 1 items\n    k n"]
    assert corpora.compare({}, {"k n": WELL}) == ["only after: 1 items\n    k n"]


def test_latency_is_reported_and_slow_items_are_named():
    slow = WELL | {"first": 50_000.0, "steps": [2.0]}
    lines = corpora.latency({"k n": WELL}, {"k n": slow})
    assert f"    {'mean':20}{1:12.1f}{2:12.1f}{2:8.2f}" in lines
    assert lines[-1] == "slower: 1 items\n    k n, first: 0.0 → 50.0 ms"
