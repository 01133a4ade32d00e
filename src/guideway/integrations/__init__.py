"""Constraints and expressions in the loops of other libraries, one module for each library."""
