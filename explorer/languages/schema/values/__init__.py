"""A schema as a set of JSON values, symbolic until it is spelled.

Read in this order: `wanted` (what is wanted of a value), `texts` (sets of strings), `amounts` (sets
of numbers) and `scalars` (those of one keyword), `places` and `deepening` (what may apply at a
place, and how deep values go), `formula` (conditions tracked side by side), `leaves` (one of them),
`containers` (arrays and objects as machines over letters), `sets` (what a value may be, and whether
there is one), `certain` (the same at a glance), `spelled` (the texts, once).
"""
