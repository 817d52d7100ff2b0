"""A machine from a schema, place by place.

Read in this order: `values` (a set of JSON values by type), `making` (what the parts ask of the
compiler), `scalars` (numbers and strings under their keywords), `places`, `deepening` (how deep
values go), `arrays`, `objects` and `members` (what is inside), `certain` and `waiting` (values that
are made when a text comes to them), `plain` (an object of named members alone), `compiler` (all of
that), `recursion` (a schema that leads back to itself, on a stack).
"""
