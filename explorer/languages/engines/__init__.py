"""JSON Schemas as other engines read them: xgrammar 0.2.8, llguidance 1.9.1, outlines-core 0.2.14.

Reading order: `drawing` (what the readings share), `xgrammar`, `outlines` and `llguidance` (a
reading each), `source` (the kind of source), `reading` (a constraint under another engine).

A reading is a translation of its own, written from the engine's documented behaviour and from the
grammars that it prints; no engine is needed for it. `tests/languages/engines` holds each against
the engine that is installed, mask by mask.
"""
