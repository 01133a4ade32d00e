"""The `guideway` command, and `python -m guideway`.

The command comes with the core. Where the extra `cli` is missing, it says how to install it.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

from guideway.cli.exits import NO_MODEL
from guideway.errors import ModelError
from guideway.extras import require


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that `arguments` (by default those of the process) name, and exit.

    Raises:
        SystemExit: always, with the status that `--help` lists.
    """
    try:
        require("cli", "the command line")
    except ModelError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(NO_MODEL)
    from guideway.cli import main

    main.run(arguments)


if __name__ == "__main__":
    run()
