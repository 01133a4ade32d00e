"""Kernels are compiled once, wherever their code may be cached, and the person is told."""

import os
from pathlib import Path

import pytest

from guideway.automaton.jit.cache import FILE, cached

SAID = "guideway compiles the kernels of a test"


class Compiler:
    """Machine code that is new each time."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return b"code %d" % self.times


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "site" / "source.py"
    path.parent.mkdir()
    path.write_text("source")
    return path


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def code_of(source: Path, compiler: Compiler) -> bytes:
    return cached("the kernels of a test", [source], compiler)


def test_code_is_compiled_once_and_the_person_is_told(
    source: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiler = Compiler()
    assert code_of(source, compiler) == b"code 1"
    first, last = capsys.readouterr().err.splitlines()
    assert first == f"{SAID}, once on this machine (about two seconds) ..."
    assert last.startswith(f"{SAID}: done in ")
    assert code_of(source, compiler) == b"code 1"
    assert capsys.readouterr().err == ""
    (folder,) = cache.iterdir()
    assert {path.name for path in folder.iterdir()} == {FILE, "probe"}
    assert [path.name for path in source.parent.iterdir()] == [source.name]


def test_without_a_folder_that_can_be_written_code_is_compiled_in_memory(
    source: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.parent.write_text("no folder")
    compiler = Compiler()
    assert [code_of(source, compiler) for _ in range(2)] == [b"code 1", b"code 2"]
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == f"{SAID}, as no cache folder can be written (about two seconds) ..."


def test_other_sources_are_compiled_anew(source: Path, cache: Path) -> None:
    compiler = Compiler()
    code_of(source, compiler)
    source.write_text("another")
    assert code_of(source, compiler) == b"code 2"
    source.write_text("source")
    assert code_of(source, compiler) == b"code 1"
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("length", [0, 5, 20])
def test_a_file_that_was_cut_off_is_not_used(source: Path, cache: Path, length: int) -> None:
    compiler = Compiler()
    code_of(source, compiler)
    (file,) = cache.rglob(FILE)
    file.write_bytes(file.read_bytes()[:length])
    assert code_of(source, compiler) == b"code 2"
    assert code_of(source, compiler) == b"code 2"


def test_a_disk_that_fills_up_meanwhile_only_costs_time(source: Path, cache: Path) -> None:
    def compiled() -> bytes:
        (folder,) = cache.iterdir()
        (folder / "probe").unlink()
        folder.rmdir()
        folder.write_text("no folder any more")
        return b"code"

    assert cached("the kernels of a test", [source], compiled) == b"code"


def test_only_the_most_recent_folders_are_kept(source: Path, cache: Path) -> None:
    for number in range(12):
        old = cache / f"old-{number}"
        old.mkdir(parents=True)
        os.utime(old, (number, number))
    code_of(source, Compiler())
    left = sorted(path.name for path in cache.glob("old-*"))
    assert left == sorted(f"old-{number}" for number in range(5, 12))
