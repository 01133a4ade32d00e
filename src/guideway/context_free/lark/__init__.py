"""Lark grammars, read as Lark itself reads them.

source, extensions      what users give; notation that Lark does not have
reader ─▶ grammar       Lark's own loader; the loaded grammar, without objects of Lark
errors                  Lark's errors with their places
lalr, lalr_automaton    the LALR(1) table; its stacks, and the proof that each can end
terminals, scanners     terminals as languages; the terminal that Lark's contextual lexer takes
indenter                blocks that begin within a line
lowering                the whole: the LALR automaton with its lexer, or rules for Earley
"""
