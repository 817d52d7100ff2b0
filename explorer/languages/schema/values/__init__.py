"""A schema as a set of JSON values, symbolic until its texts are drawn.

Read in this order: `wanted` (a set of values by its subschemas), `texts` (sets of strings),
`amounts` (sets of numbers) and `scalars` (the numbers and strings that keywords allow), `places`
and `deepening` (the subschemas that may apply at a place, and the depth of values), `formula`
(conditions tracked side by side), `leaves` (single conditions), `containers` (arrays and objects as
machines over letters), `sets` (the values of a set by type, and whether there is one), `certain`
(sets that surely have a value, at a glance), `spelled` (the texts of a set).
"""
