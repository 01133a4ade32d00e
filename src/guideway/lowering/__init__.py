"""Trees to the core expression: the only stage that sees both a front end and the core."""
