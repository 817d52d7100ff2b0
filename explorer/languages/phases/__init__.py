"""One run of several phases: control tokens, free text, tool calls, an answer.

Reading order: `control` (control tokens as letters), `free` (any text, and text up to an end),
`functions` (what users call).
"""
