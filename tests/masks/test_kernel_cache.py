"""Kernels are compiled once, wherever they may be kept, and the person is told."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from numba.core.compiler import CompilerBase, DefaultPassBuilder

from guideway.masks.kernel_cache import Kernels

MODULE = """
from pathlib import Path

from guideway.masks.kernel_cache import Kernels

kernels = Kernels("the kernels of a test", [Path(__file__)], count=2)


@kernels.compiled("int64(int64)")
def double(number):
    return 2 * number


@kernels.compiled("int64(int64)")
def triple(number):
    return 3 * number


kernels.finish()
print(double(21), triple(5), double.stats.cache_hits != {}, triple.stats.cache_hits != {})
"""
SAID = "guideway compiles the kernels of a test"
LONG = "(about ten seconds)"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module with two kernels, in a folder where nothing else is."""
    path = tmp_path / "site" / "kernels_of_a_test.py"
    path.parent.mkdir()
    path.write_text(MODULE)
    return path


def imported(module: Path, cache: Path) -> tuple[str, str]:
    """What importing it in a new process prints, and tells the person."""
    environment = {**os.environ, "GUIDEWAY_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(module)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_the_second_process_loads_what_the_first_compiled(module: Path, tmp_path: Path) -> None:
    printed, told = imported(module, tmp_path / "cache")
    assert printed == "42 15 False False"
    assert told.startswith(
        f"{SAID}, once on this machine (about ten seconds) ...\n{SAID}: done in "
    )
    printed, told = imported(module, tmp_path / "cache")
    assert printed == "42 15 True True"
    assert told == ""
    assert [path.name for path in module.parent.iterdir()] == [module.name]


def test_without_a_folder_that_can_be_written_they_are_compiled_in_memory(
    module: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    for _ in range(2):
        printed, told = imported(module, blocked)
        assert printed == "42 15 False False"
        assert told.startswith(
            f"{SAID}, as no cache folder can be written (about ten seconds) ...\n"
        )
    assert [path.name for path in module.parent.iterdir()] == [module.name]


def test_other_sources_are_compiled_anew(module: Path, tmp_path: Path) -> None:
    imported(module, tmp_path / "cache")
    module.write_text(MODULE.replace("2 * number", "4 * number"))
    printed, told = imported(module, tmp_path / "cache")
    assert printed == "84 15 False False"
    assert told.startswith(SAID)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_files_that_were_cut_off_are_not_used(module: Path, tmp_path: Path, suffix: str) -> None:
    imported(module, tmp_path / "cache")
    files = [path for path in (tmp_path / "cache").rglob("*") if path.suffix == suffix]
    assert len(files) == 2
    for path in files:
        path.write_bytes(path.read_bytes()[:20])
    assert imported(module, tmp_path / "cache")[0] == "42 15 False False"


class Terminal:
    """A stderr that is looked at."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...


def test_on_a_terminal_it_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    kernels = Kernels("what they are for", [Path(__file__)], count=2)
    assert kernels.compiled("int64(int64)")(lambda number: 2 * number)(21) == 42
    assert kernels.compiled("int64(int64)")(lambda number: 3 * number)(5) == 15
    kernels.finish()
    assert "\r1 of 2, " in terminal.text
    # Another set of the same sources finds that all was finished, and says nothing.
    terminal.text = ""
    again = Kernels("what they are for", [Path(__file__)], count=2)
    again.compiled("int64(int64)")(lambda number: number)
    again.finish()
    assert terminal.text == ""


def test_a_mistake_in_a_kernel_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    kernels = Kernels("what cannot be compiled", [Path(__file__)], count=1)
    with pytest.raises(Exception, match="nonsense"):
        kernels.compiled("int64(int64)")(lambda number: number.nonsense)


def test_a_disk_that_fills_up_meanwhile_only_costs_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    kernels = Kernels("what they are for", [Path(__file__)], count=1)
    (folder,) = (tmp_path / "kernels").iterdir()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("no folder any more")

    @kernels.compiled("int64(int64)")
    def half(number: int) -> int:
        return number // 2

    kernels.finish()
    assert half(42) == 21


def test_only_the_most_recent_folders_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    for number in range(12):
        old = tmp_path / "kernels" / f"old-{number}"
        old.mkdir(parents=True)
        os.utime(old, (number, number))
    Kernels("nothing at all", [Path(__file__)], count=0).finish()
    left = sorted(path.name for path in (tmp_path / "kernels").glob("old-*"))
    assert left == sorted(f"old-{number}" for number in range(5, 12))


def test_no_folder_and_no_terminal_is_told_in_two_lines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("GUIDEWAY_CACHE", str(blocked))
    kernels = Kernels("two kernels", [Path(__file__)], count=2)
    assert kernels.compiled("int64(int64)")(lambda number: 2 * number)(21) == 42
    assert kernels.compiled("int64(int64)")(lambda number: 3 * number)(5) == 15
    kernels.finish()
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("guideway compiles two kernels, as no cache folder can be written")
    assert last.startswith("guideway compiles two kernels: done in ")


@pytest.mark.parametrize("before", [True, False])
def test_garbage_is_not_collected_while_kernels_are_compiled(
    before: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    seen: list[bool] = []

    class Looking(CompilerBase):
        """Numba's own passes, and a look at the collector."""

        def define_pipelines(self) -> list[Any]:
            seen.append(gc.isenabled())
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    kernels = Kernels(
        "one kernel",
        [Path(__file__)],
        count=1,
        settings={"fastmath": True, "pipeline_class": Looking},
    )
    enabled = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        kernel = kernels.compiled("int64(int64)")(lambda number: number)
        after = gc.isenabled()
    finally:
        (gc.enable if enabled else gc.disable)()
    kernels.finish()
    assert seen == [False]
    assert after is before
    assert cast("Any", kernel).targetoptions["fastmath"] is True
