"""Lark grammars, read as Lark itself reads them.

    source, extensions      what users give; notation that Lark does not have
    reader, errors          Lark's own loader; Lark's errors with their places
    lalr                    the LALR(1) table
    plans                   the automaton over stacks, and the proof that every stack can end
    terminals, scanners     terminals as languages; the terminal that Lark's contextual lexer takes
    indenter                blocks that begin within a line
    lowering                the whole: the LALR automaton with its lexer, or rules for Earley

The tree that `reader` returns holds no object of Lark.
"""
