"""One run of several phases: control tokens, free text, tool calls, an answer.

Reading order: `control` (control tokens as letters), `free` (any text, and text up to an end),
`phase` (a part with a name), `followed` (the phases of a text). For structural tags: `leftmost`
(free text up to a string), `formats` (the pieces of a tag), `reading` (from JSON to
pieces), `markup` (arguments that are not JSON), `structural` (the source). Last `functions` (what
users call).
"""
