"""Benchmarks are scripts: pytest collects nothing here."""

collect_ignore_glob = ["*"]
