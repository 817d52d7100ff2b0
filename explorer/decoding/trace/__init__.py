"""The record of a run: immutable, versioned JSON on disk, readable without a model.

Read in this order: `records` (positions and steps), `masks`, `recording` (the fields that a trace
has), `form` (the fields of a file, and the spot of any damage), `writing` and `reading` (to a file
and back), `trace` (what a user holds, in words as well).
"""
