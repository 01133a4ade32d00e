"""The extraction benchmark is a script: pytest collects nothing there."""

collect_ignore = ["extraction"]
