"""`python -m guideway` is the command line."""

from guideway.cli.main import run

if __name__ == "__main__":
    run()
