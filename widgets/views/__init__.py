"""The widgets themselves.

Read in this order: `bundle` (their ES modules), `view` (what they share), `stilled` (the picture
that outlives the kernel), `explorer` (with its parts), `compare`, `invasiveness`.
"""
