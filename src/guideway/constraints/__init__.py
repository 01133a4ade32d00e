"""What a decoding loop holds: start, mask, advance, accepts. No torch."""
