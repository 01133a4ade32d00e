"""The cache changes how long reading takes, and nothing else, whatever is done to its files."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.vocabulary import cache, tokenizer_json
from guideway.vocabulary.cache import Record, packed, unpacked
from guideway.vocabulary.trie import Trie
from guideway.vocabulary.vocabulary import Vocabulary
from small_tokenizers import byte_level, sentencepiece, unigram, word_piece

TOKENIZERS = {
    "byte level": byte_level(), "sentencepiece": sentencepiece(), "unigram": unigram(),
    "word piece": word_piece(),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, in which small tokenizers are kept too."""
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "WORTH_TOKENS", 0)
    monkeypatch.setattr(tokenizer_json, "WORTH_BYTES", 0)
    return tmp_path / "vocabularies"


def content(vocabulary: Vocabulary) -> tuple[object, ...]:
    arrays = [getattr(vocabulary.trie, name).tolist() for name in Trie.__slots__]
    return (vocabulary.fingerprint, dict(vocabulary.special), arrays)


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be made, only read."""

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(tokenizer_json.Backend, "load", fail)
    monkeypatch.setattr(Trie, "build", fail)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_second_reading_makes_nothing_and_gives_the_same(name, folder, monkeypatch):
    first = Vocabulary.from_tokenizer_json(TOKENIZERS[name])
    assert sorted(path.suffix for path in folder.iterdir()) == [".table", ".trie"]
    forbid(monkeypatch)
    again = Vocabulary.from_tokenizer_json(TOKENIZERS[name])
    assert content(again) == content(first)
    plain = Vocabulary(first.tokens, first.eos_ids, lead=first.lead, special=first.special)
    monkeypatch.undo()
    assert content(again)[2] == content(plain)[2]


def test_end_tokens_are_found_by_name_in_what_was_kept(monkeypatch):
    def read() -> list[set[int]]:
        both = (Vocabulary.from_tokenizer_json(sentencepiece(), eos=eos) for eos in (None, "he"))
        return [set(vocabulary.eos_ids) for vocabulary in both]

    first = read()
    forbid(monkeypatch)
    assert read() == first == [{2}, {274}]


@pytest.mark.parametrize("harm", ["cut", "changed", "other format", "not there"])
def test_a_file_that_is_not_whole_is_made_again(harm, folder):
    first = content(Vocabulary.from_tokenizer_json(byte_level()))
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    for path, data in whole.items():
        match harm:
            case "cut":
                path.write_bytes(data[:-1])
            case "changed":
                path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            case "other format":
                path.write_bytes(data[:8] + b"\xff" + data[9:])
            case _:
                path.unlink()
    assert content(Vocabulary.from_tokenizer_json(byte_level())) == first
    assert {path: path.read_bytes() for path in folder.iterdir()} == whole


@pytest.mark.parametrize("harm", ["no folder", "a full disk", "unreadable code", "no home"])
def test_a_cache_that_cannot_be_written_or_read_only_costs_time(harm, folder, monkeypatch):
    def fail(*_: object) -> Path:
        raise RuntimeError if harm == "no home" else OSError(28, "no space left on device")

    if harm == "no folder":
        folder.write_text("")
    elif harm == "no home":
        monkeypatch.delenv("GUIDEWAY_CACHE")
        monkeypatch.setattr(Path, "home", fail)
        with pytest.raises(OSError, match="set GUIDEWAY_CACHE to a folder"):
            cache.cache_folder("it")
    else:
        owner, name = (Path, "replace") if harm == "a full disk" else (cache, "_code")
        monkeypatch.setattr(owner, name, fail)
    assert Vocabulary.from_tokenizer_json(byte_level()).width == 20
    assert not folder.is_dir() or not [*folder.iterdir()]


def test_other_code_reads_anew(folder, monkeypatch):
    Vocabulary.from_tokenizer_json(byte_level())
    monkeypatch.setattr(cache, "_code", lambda: b"a later version")
    Vocabulary.from_tokenizer_json(byte_level())
    assert len(list(folder.iterdir())) == 4


def test_only_the_most_recent_files_are_kept(folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST_FILES", 3)
    for text in TOKENIZERS.values():
        newest = Vocabulary.from_tokenizer_json(text)
    assert len(list(folder.iterdir())) == 3
    forbid(monkeypatch)
    assert content(Vocabulary.from_tokenizer_json(text)) == content(newest)


def test_files_hold_no_pickle_and_nothing_but_what_was_read(folder, monkeypatch):
    Vocabulary.from_tokenizer_json(byte_level())
    kept = [*folder.iterdir()]
    monkeypatch.undo()
    monkeypatch.setenv("GUIDEWAY_CACHE", str(folder.parent))
    assert Vocabulary.from_tokenizer_json(sentencepiece()).trie is not None
    assert [*folder.iterdir()] == kept  # small vocabularies are not worth a file
    for path in kept:
        record = unpacked(path.read_bytes())
        assert record is not None
        assert packed(record) == path.read_bytes()


COMPILE = """
import os
import sys
import guideway as gw
from guideway.vocabulary import cache, tokenizer_json

cache.WORTH_TOKENS = tokenizer_json.WORTH_BYTES = 0
gw.warmup()  # with the kernels of this machine: compiling them takes half a minute
os.environ["GUIDEWAY_CACHE"] = sys.argv[2]
vocabulary = gw.Vocabulary.from_tokenizer_json(sys.argv[1])
opened = []
sys.addaudithook(lambda event, args: opened.append(args) if event == "open" else None)
constraint = gw.compile(gw.Regex("[he]+"), vocabulary)
constraint.mask(constraint.start())
sys.exit(f"opened {opened}" if opened else 0)
"""


def test_reading_a_vocabulary_reads_its_trie_so_that_compiling_opens_nothing(tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(byte_level())
    monkeypatch.undo()
    command = [sys.executable, "-c", COMPILE, str(path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("platform", "variables", "place"), [
    ("linux", {}, "home/.cache/guideway/it"),
    ("linux", {"XDG_CACHE_HOME": "caches"}, "caches/guideway/it"),
    ("darwin", {"XDG_CACHE_HOME": "caches"}, "home/Library/Caches/guideway/it"),
    ("win32", {}, "home/AppData/Local/guideway/it"),
    ("win32", {"LOCALAPPDATA": "local"}, "local/guideway/it"),
    ("linux", {"GUIDEWAY_CACHE": "own"}, "own/it"),
])  # fmt: skip
def test_caches_lie_where_the_system_has_them(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], place: str
) -> None:
    for name in ("GUIDEWAY_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.cache_folder("it") == Path(place)


# What is written is read again, and what was written otherwise is not read at all.

ARRAYS = st.dictionaries(
    st.sampled_from(["tokens", "token_ends", "pieces", "end"]),
    st.tuples(st.sampled_from(["u1", "u2", "i4", "<i8", "<i4"]), st.lists(st.integers(0, 99))).map(
        lambda pair: np.array(pair[1], pair[0])
    ),
    max_size=4,
)
FACTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)
SAMPLE = packed(Record({"a": "b"}, {"c": np.arange(40), "d": np.zeros(0, np.uint8)}))


@given(FACTS, ARRAYS)
def test_what_was_packed_is_unpacked(facts, arrays):
    record = unpacked(packed(Record(facts, arrays)))
    assert record is not None
    assert record.facts == facts
    for (name, array), (known, found) in zip(arrays.items(), record.arrays.items(), strict=True):
        assert (known, found.dtype, found.tolist()) == (name, array.dtype, array.tolist())
        assert found.flags.aligned
        assert not found.flags.writeable


@given(st.integers(0, len(SAMPLE) - 1), st.integers(1, 255))
def test_a_byte_that_changed_is_noticed_wherever_it_is(place, change):
    damaged = bytearray(SAMPLE)
    damaged[place] ^= change
    assert unpacked(bytes(damaged)) is None


def test_another_format_is_not_read_however_whole():
    assert unpacked(SAMPLE) is not None
    assert unpacked(SAMPLE[:8] + struct.pack("<I", 1) + SAMPLE[12:]) is None
