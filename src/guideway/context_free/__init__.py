"""Context-free grammars: GBNF, Lark, the shipped grammars."""
