"""Templates: fixed text and generated parts, composed as one constraint.

Read in this order: `until` (text up to a stop or to a match of a pattern), `many` (one part several
times), `limited` (a part with a limit on its
tokens), `source` (the template), `expression` (constraints written as Python expressions, read
back), `generated` (from arguments to sources), `functions` (what users call).
"""
