"""Context-free grammars: llama.cpp's GBNF, Lark's grammars, and the shipped ones.

    gbnf                        GBNF texts to rules
    lowering                    rules to an expression over bytes, without left recursion
    lark/                       Lark
    shipped, shipped_sources    the grammars that come with guideway, by name

Rules may nest to any depth.
"""
