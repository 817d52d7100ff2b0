"""The record of a run: immutable, versioned JSON on disk, readable without a model.

Read in this order: `records` (positions, steps, statistics), `recording` (masks and the other
fields of a trace), `form` (the fields of a file, and the location of any damage), `writing` and
`reading` (to a file and back), `trace` (the class that users hold, with its textual form).
"""
