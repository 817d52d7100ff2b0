"""The record of a run: immutable, versioned JSON on disk, readable without a model.

Read in this order: `records` (positions and steps), `masks`, `recording` (the fields that a trace
has), `text` (in words), `form` (the fields of a file), `writing` and `reading` (to a file and back;
`faults` names the spot of any damage), `trace` (what a user holds).
"""
