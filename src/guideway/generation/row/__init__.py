"""One row of a batch: its request, position in a constraint, tokens and trace."""
