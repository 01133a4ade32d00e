"""The loop: rows, steps, schedules, speculation."""

from guideway.extras import require

require("torch", "guideway.generation")
