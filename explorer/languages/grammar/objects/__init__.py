"""Rules of a grammar as Python objects.

Read in this order: `parts` (rules, and what their bodies are made of), `writing` (their text in
GBNF), `embedding` (the kind of source with terminals that have no form in GBNF).
"""
