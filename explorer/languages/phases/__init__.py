"""One run of several phases: control tokens, free text, tool calls, an answer.

Reading order: `control` (control tokens as letters), `free` (any text, and text up to an end),
`phase` (a part with a name), `followed` (the phases of a text). Structural tags: `leftmost` (free
text up to a string), `formats` (their pieces), `members` and `reading` (from JSON to pieces),
`markup` (arguments that are not JSON), `structural` (the source). `functions` (what users call).
"""
