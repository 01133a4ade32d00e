"""Constraints and expressions in the loops of other libraries, one module for each library."""

from guideway.extras import require

require("torch", "guideway.integrations")
