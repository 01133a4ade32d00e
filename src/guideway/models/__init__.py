"""Language models: the protocol, and what runs them."""

from guideway.extras import require

require("torch", "guideway.models")
