"""The exit statuses of all commands, as `--help` lists them."""

from typing import Final

REFUSED: Final = 1
NO_MODEL: Final = 3
INVALID: Final = 4
INTERRUPTED: Final = 130

EXITS: Final = """Exit status:
  0    success
  1    refused: the source is wrong or allows no text, or a limit is too low
  2    wrong usage, or a file that cannot be read
  3    the model cannot be loaded or is broken
  4    done, but a validator of the Python type refused a value, or a row of --jsonl failed
  130  interrupted by Ctrl-C; the text so far is printed"""
