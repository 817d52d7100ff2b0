"""A constraint made shorter while the same engine still differs from us for the same reason.

Read in this order: `patterns`, `schema_keywords`, `alternatives` (the smaller constraints that one
step gives, for each notation), `smaller` (which of them a constraint has), `shrink` (step by step,
as long as the class of the difference stays).
"""
