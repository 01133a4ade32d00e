"""Every check of the project; pytest, with its coverage gate, comes last.

    python tests/run.py                    all checks: what CI runs
    python tests/run.py -k regex --no-cov  the same, with arguments for pytest

The quick checks run in two lanes, as CI has two cores; what each says is printed when it is done.
Where one fails pytest does not begin, and the exit status is that of the first that failed. The
settings of all tools are in pyproject.toml and mkdocs.yml; nothing here installs or changes
anything, but mkdocs builds the documentation into `site`, and `tests/warm.py` fills the user's
cache folder, as any use of guideway does.
"""

import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))
PYTHON = sys.executable

LANES: list[dict[str, list[str]]] = [
    {"pyright": [PYTHON, "-m", "pyright", "--pythonpath", PYTHON]},
    {
        "ruff check": [str(SCRIPTS / "ruff"), "check", "."],
        "ruff format": [str(SCRIPTS / "ruff"), "format", "--check", "."],
        "import-linter": [str(SCRIPTS / "lint-imports")],
        "mkdocs": [PYTHON, "-m", "mkdocs", "build", "--strict", "--quiet"],
        "caches": [PYTHON, str(ROOT / "tests" / "warm.py")],
        "wheel": [PYTHON, str(ROOT / "tests" / "wheel.py")],
    },
]

# Tests are shuffled, by the same seed in every run: what CI says is to depend on the commit alone.
# `pytest` called by hand takes a new seed each time and prints it.
# Two processes, as CI has two cores; a file's tests stay together, as they share what is costly,
# but for those that are not traced (tests/runs.py).
PYTEST = [PYTHON, "-m", "pytest", "--cov=guideway", "--randomly-seed=20261121"]
# Files begin in the order of tests/conftest.py, not those of the most tests first.
PYTEST += ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]


def say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def check(name: str, command: list[str], failed: dict[str, int]) -> None:
    """Run one check, say all that it said, and remember the exit status if it is not 0."""
    begun = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = done.stdout.decode(errors="replace")
    say(f"\n── {name} ({time.perf_counter() - begun:.0f} s)\n{said}")
    if done.returncode:
        failed[name] = done.returncode


def lane(checks: dict[str, list[str]], failed: dict[str, int]) -> None:
    """Run checks one after the other; all of them, so that all mistakes are told at once."""
    for name, command in checks.items():
        check(name, command, failed)


def main(arguments: list[str]) -> int:
    """Run the checks; the exit status of the first that fails, else 0."""
    failed: dict[str, int] = {}
    threads = [threading.Thread(target=lane, args=(checks, failed)) for checks in LANES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not failed:
        say("\n── pytest\n")
        status = subprocess.run([*PYTEST, *arguments], cwd=ROOT, check=False).returncode
        if not status:
            return 0
        failed["pytest"] = status
    for name, status in failed.items():
        say(f"\n{name} failed with exit status {status}\n")
    return next(iter(failed.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
