"""Chats with a model: tools, formats of their calls, messages.

    tools               functions and schemas that a model may call
    tool_formats        how models write calls, by format
    tool_literals       arguments of calls as Python literals or XML elements
    structural_tags     xgrammar's structural tags
    messages            messages of OpenAI's clients
    parts               the parts of any source, and a short text of it for errors

A call of a tool is a source like any other, so a constraint can enforce it.
"""
