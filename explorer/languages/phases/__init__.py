"""One run of several phases: control tokens, free text, tool calls, an answer.

Reading order: `control` (control tokens as letters), `free` (any text, and text up to an end),
`phase` (a part with a name), `followed` (the phases of a text), `functions` (what users call).
"""
