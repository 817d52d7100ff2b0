"""A schema as a set of JSON values, symbolic until its texts are drawn.

Read in this order: `texts` (sets of strings), `amounts` (sets of numbers), `places` (a set of
values by its subschemas, the places where they apply, the depth of values), `leaves` (conditions on
an array or object, tracked side by side), `containers` (arrays and objects as machines over
letters), `sets` (the values of a set by type, and whether there is one), `sound`
(whether a machine surely can be built), `spelled` (the texts of a set).
"""
