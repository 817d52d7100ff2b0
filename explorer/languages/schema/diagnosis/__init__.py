"""Everything that tells a person about a schema: errors, places, sizes.

Read in this order: `locating` (the place of a text in its schema), `deciding` (which keywords
decide there, or exclude each other), `annotations` (keywords that constrain nothing), `remedies`
(changes that allow more, and the keywords that end endless text), `profiling` (sizes by subschema).
"""
