"""What users write: texts, choices, regions and their combinations, as frozen values."""
