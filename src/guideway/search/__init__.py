"""Searches that keep several texts of one prompt."""

from guideway.extras import require

require("torch", "guideway.search")
