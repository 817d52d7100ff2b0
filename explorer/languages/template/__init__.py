"""Fixed text and generated parts in turn, composed over the whole.

Read in this order: `splitting` (which part of a text belongs to which piece), `until` (text up to a
stop or to a match of a pattern), `many` (one part several times), `limited` (a part in at most so
many tokens), `source` (the template), `expression` (a template as Python writes it, read back),
`generated` (from arguments to sources), `functions` (what users call).
"""
