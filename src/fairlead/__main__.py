"""`python -m fairlead` is the command line."""

from fairlead.cli.main import run

if __name__ == "__main__":
    run()
