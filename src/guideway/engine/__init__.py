"""The loop: models, sequences, steps."""

from guideway.extras import require

require("torch", "guideway.engine")
