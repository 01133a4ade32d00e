"""Whole steps captured on a device, with constraints as tables there."""
