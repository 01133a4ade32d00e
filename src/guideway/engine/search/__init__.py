"""Searches: several rows for one prompt, and what becomes of them at each step."""
