"""What tests need and is made once: compiled kernels, the built-in model, real tokenizers, a suite.

    python tests/warm.py

Whatever is missing in the cache is fetched, converted or compiled here, once, before tests begin in
several processes: each of them would do it too, or wait for the other. Tests do not rely on it.
"""

import guideway as gw
from json_schema_suite import suite
from real_tokenizers import NAMES, real_vocabulary


def main() -> None:
    """Fill the cache."""
    gw.warmup()
    gw.load("smollm2-135m", device="cpu")
    for name in NAMES:
        real_vocabulary(name)
    suite()


if __name__ == "__main__":
    main()
