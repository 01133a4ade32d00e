"""Lark grammars as Lark reads them: loader, LALR table, lexer, indentation."""
