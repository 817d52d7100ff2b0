"""Everything that tells a person about a schema: errors, places, sizes.

Read in this order: `locating` (the place of a text in its schema), `deciding` (which keywords
decide there), `conflict` (which keywords exclude each other), `annotations` (keywords that
constrain nothing), `relaxing` (changes that allow more), `profiling` (sizes by subschema), `loops`
(the keywords that end endless text).
"""
