"""An automaton meets the tokens of a vocabulary: lexer states, pushdown states, masks."""
