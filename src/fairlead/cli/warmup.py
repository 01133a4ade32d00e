"""`fairlead warmup`: everything that is slow the first time, done now."""

import time

from fairlead.cli.console import print_line
from fairlead.cli.models import open_model
from fairlead.cli.options import BUILT_IN, Model


def warmup(model: Model = BUILT_IN) -> None:
    """Convert the model into the cache, if that was not done, load it, and take one step.

    Afterwards loading it takes about a second. Without a network nothing is fetched: the message
    then says what was looked for, and how to provide it.
    """
    import fairlead

    begun = time.perf_counter()
    fairlead.warmup()
    loaded = open_model(model)
    loaded.generate("a", max_new_tokens=1)
    print_line(f"{model} is ready ({time.perf_counter() - begun:.1f} s)")
