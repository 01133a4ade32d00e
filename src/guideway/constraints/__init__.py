"""Compiled constraints for decoding loops: start, mask, advance, accepts. No torch."""
