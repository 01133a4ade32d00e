"""Benchmarks of guideway, run from the top of a checkout.

python -m tests.benchmarks --help
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))  # where `benchmarks` is, as for pytest
    from benchmarks.commands import run

    run()
