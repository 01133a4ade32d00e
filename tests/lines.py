"""Lines of `src` by folder, a ratchet: they may only fall (`tests/test_architecture.py`).

    python tests/lines.py    writes the table `lines.json` anew

A lower number has to be written down, so that it stays. A higher one needs a reason in the message
of the commit that writes it down. A new folder starts at its size.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent.parent / "src" / "guideway"
TABLE: Final = Path(__file__).parent / "lines.json"


def counted() -> dict[str, int]:
    """The lines of all modules in each folder of the package and below it."""
    lines = Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        folder = path.relative_to(PACKAGE).parts[0].removesuffix(path.name)
        lines[folder or "."] += len(path.read_text(encoding="utf-8").splitlines())
    return dict(sorted(lines.items()))


def changed() -> dict[str, tuple[int, int]]:
    """Folders with their lines in the table and now, where these differ."""
    before, now = json.loads(TABLE.read_text()), counted()
    both = {name: (before.get(name, 0), now.get(name, 0)) for name in {*before, *now}}
    return {name: (old, new) for name, (old, new) in both.items() if old != new}


if __name__ == "__main__":
    TABLE.write_text(json.dumps(counted(), indent=2) + "\n")
