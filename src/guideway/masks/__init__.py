"""Token masks: which tokens of a vocabulary a constraint allows next."""
