"""The exit statuses of all commands, as `--help` lists them."""

from typing import Final

REFUSED: Final = 1
NO_MODEL: Final = 3
INVALID: Final = 4
INTERRUPTED: Final = 130

EXITS: Final = """Exit status:
  0    done
  1    refused: a wrong or impossible source, or a limit
  2    wrong usage, or no such file
  3    no model, or a broken one
  4    done, but a validator of the Python type refused the value
  130  interrupted; what there was by then is printed"""
