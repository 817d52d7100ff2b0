"""Schemas and patterns as other engines read them: xgrammar 0.2.8, llguidance 1.9.1, outlines-core
0.2.14.

Reading order: `patterns` (the engines' dialects of regular expressions), `drawing` (what the
readings of schemas share), `xgrammar`, `outlines` and `llguidance` (a reading each), `source` (the
kind of source), `reading` (a constraint under another engine). `engines.json` has their formats and
their rules in words.

A reading is a translation of its own, written from the engine's documented behaviour and from the
grammars that it prints; no engine is needed for it. `tests/languages/engines` holds each against
the engine that is installed, mask by mask.
"""
