"""Every check of the project, the quickest first; pytest, with its coverage gate, comes last.

    python tests/run.py                    all checks: what CI runs
    python tests/run.py -k regex --no-cov  the same, with arguments for pytest

The first check that fails ends the run with its exit status. The settings of all tools are in
pyproject.toml; nothing here installs or changes anything.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))
PYTHON = sys.executable

# Tests are shuffled, by the same seed in every run: what CI says is to depend on the commit alone.
# `pytest` called by hand takes a new seed each time and prints it.
# Two processes, as CI has two cores; a file's tests stay together, as they share what is costly.
PYTEST = ["-m", "pytest", "--cov=fairlead", "--randomly-seed=20261121"]
PYTEST += ["-n", "2", "--dist", "loadfile"]

CHECKS: dict[str, list[str]] = {
    "ruff check": [str(SCRIPTS / "ruff"), "check", "."],
    "ruff format": [str(SCRIPTS / "ruff"), "format", "--check", "."],
    "pyright": [PYTHON, "-m", "pyright", "--pythonpath", PYTHON],
    "import-linter": [str(SCRIPTS / "lint-imports")],
    "pytest": [PYTHON, *PYTEST],
}


def main(arguments: list[str]) -> int:
    """Run the checks; the exit status of the first that fails, else 0."""
    for name, command in CHECKS.items():
        sys.stderr.write(f"\n── {name}\n")
        sys.stderr.flush()
        extra = arguments if name == "pytest" else []
        status = subprocess.run([*command, *extra], cwd=ROOT, check=False).returncode
        if status:
            sys.stderr.write(f"\n{name} failed with exit status {status}\n")
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
