"""The widgets themselves.

Read in this order: `bundle` (their ES modules), `view` (their common base), `stilled` (the picture
that remains without a kernel), `explorer` (with its parts), `compare`, `invasiveness`.
"""
