"""The record of a run: immutable, versioned JSON on disk, readable without a model.

Read in this order: `records` (positions and steps), `trace`, `text` (in words), `writing` and
`reading` (to a file and back; `json_place` names the spot of any damage).
"""
