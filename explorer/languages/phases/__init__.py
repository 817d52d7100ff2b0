"""One run of several phases: control tokens, free text, tool calls, an answer.

Reading order: `control` (control tokens as letters), `free` (text without some strings, and text up
to one), `phase` (a part with a name), `followed` (the phases of a text). For structural tags:
`objects` (their JSON), `reading` (from JSON to a tree), `markup` (arguments that are not JSON),
`structural` (the source). Last `functions` (what users call).
"""
