"""The part of a source that a verdict is about.

Read in this order: `part` (what is named, and what is asked), `spans` (the part that expects or
excludes something), `deciding` (the parts that decide a verdict, limits on tokens included),
`stack` (the rules that are open), `widening` (the smallest change that would let a token through,
and the everyday reasons, each with the change that undoes it).
"""
