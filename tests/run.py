"""Run every check of the project.

    python tests/run.py                 all checks: what CI runs
    python tests/run.py -k regex        the same, with arguments for pytest
    python tests/run.py --nightly       also the slow tests, and branch coverage with its gate

Quick checks come first. If one fails, pytest does not start. Then pytest runs, and beside it the
checks that take a minute or more; their output comes after pytest's. The exit status is that of the
first check that failed. The settings of all tools are in pyproject.toml. Nothing is installed or
changed here, except that `tests/warm.py` fills the user's cache folder, and that CI (the variable
`CI` is set) gets the browser of the tests if it runs as root on Debian.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))
PYTHON = sys.executable

QUICK: dict[str, list[str]] = {
    "ruff check": [str(SCRIPTS / "ruff"), "check", "."],
    "ruff format": [str(SCRIPTS / "ruff"), "format", "--check", "."],
    "import-linter": [str(SCRIPTS / "lint-imports")],
    "caches": [PYTHON, str(ROOT / "tests" / "warm.py")],
}
BROWSER = "apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium"
BESIDE: dict[str, list[str]] = {
    "pyright": [PYTHON, "-m", "pyright", "--pythonpath", PYTHON],
    "wheel": [PYTHON, str(ROOT / "tests" / "wheel.py")],
    "mkdocs": [PYTHON, "-m", "mkdocs", "build", "--strict", "--quiet"],
}

# The seed is fixed, so that CI's verdict depends on the commit alone. `pytest` called by hand takes
# a new seed each time and prints it. Two processes, as CI has two cores; the tests of a file stay
# together, because they share what is costly (tests/runs.py).
PYTEST = [PYTHON, "-m", "pytest", "--randomly-seed=20261121"]
# Files start in the order of tests/conftest.py, not those with the most tests first.
PYTEST += ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
NIGHTLY = ["--cov=guideway", "-m", ""]  # no marker is left out


def say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def check(name: str, command: list[str]) -> tuple[int, str]:
    """Run one check; its exit status, and its output under a heading."""
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output = done.stdout.decode(errors="replace")
    return done.returncode, f"\n── {name} ({time.perf_counter() - started:.0f} s)\n{output}"


def lacks_browser() -> bool:
    """Return True in CI where Debian's browser can be installed, and is not."""
    may = os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get")
    return bool(may) and shutil.which("chromium") is None


def main(arguments: list[str]) -> int:
    """Run the checks; the exit status of the first that failed, else 0."""
    failed: dict[str, int] = {}

    def report(name: str, done: tuple[int, str]) -> None:
        status, output = done
        say(output)
        if status:
            failed[name] = status

    if lacks_browser():
        say(check("chromium", ["sh", "-c", BROWSER])[1])  # without it, its tests are skipped
    for name, command in QUICK.items():
        report(name, check(name, command))
    if not failed:
        if "--nightly" in arguments:
            arguments = [*NIGHTLY, *(each for each in arguments if each != "--nightly")]
        with ThreadPoolExecutor(1) as beside:
            waiting = {
                name: beside.submit(check, name, command) for name, command in BESIDE.items()
            }
            say("\n── pytest\n")
            status = subprocess.run([*PYTEST, *arguments], cwd=ROOT, check=False).returncode
            if status:
                failed["pytest"] = status
            for name, future in waiting.items():
                report(name, future.result())
    for name, status in failed.items():
        say(f"\n{name} failed with exit status {status}\n")
    return next(iter(failed.values()), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
